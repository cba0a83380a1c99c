"""One look for every figure: a policy keeps its colour, marker and dash wherever it appears."""

import hashlib
from importlib.resources import as_file, files
from types import MappingProxyType

import matplotlib.pyplot as plt

from iac_lib.figures.save import save

__all__ = ["POLICY_STYLE", "label", "policy_style", "save", "use_style"]

# Okabe-Ito: told apart with the common colour-vision deficiencies.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

_LONG_DASH, _DASH_DOT_DOT = (0, (7, 2)), (0, (4, 1.5, 1, 1.5, 1, 1.5))

_LOOK = {
    # name: (display name, colour, marker, line style)
    "lru": ("LRU", BLACK, "s", "--"),
    "lfu": ("LFU", ORANGE, "^", "-."),
    "slru": ("SLRU", SKY, "v", ":"),
    "gdsf": ("GDSF", PURPLE, "D", "-."),
    "lpc": ("LPC", BLUE, "P", "-"),
    "wa": ("WA", GREEN, "X", "--"),
    "t-lru": ("T-LRU", SKY, "<", _LONG_DASH),
    "full-horizon": ("Full horizon", ORANGE, "h", _DASH_DOT_DOT),
    "iac": ("IAC", VERMILLION, "o", "-"),
    "iac-no-intent": ("IAC without intent", VERMILLION, "d", ":"),
    "tb": ("TB", GREEN, ">", "-"),
    "tb+s": ("TB+S", PURPLE, "p", "-"),
    "min": ("MIN", BLACK, "*", ":"),
    "optimum": ("Optimum", BLACK, "H", "-"),
}

_VARIANTS = {
    # Stand beside each other and beside the policies above, not beside what they vary.
    "lpc-by-turn": ("LPC (by turn)", BLUE, "P", "--"),
    "iac*": ("IAC*", VERMILLION, "o", "--"),
    "iac RY,RE": ("IAC (RY,RE)", BLUE, "s", "-"),
    "iac RE,RY": ("IAC (RE,RY)", SKY, "v", "-."),
    "iac RY": ("recency only (RY)", GREEN, "^", "--"),
    "iac RE": ("reuse only (RE)", PURPLE, "D", "-."),
    "iac S": ("size only (S)", ORANGE, "P", ":"),
    "iac-random": ("IAC, random labels", "0.5", "x", "--"),
    "iac mean": ("IAC, mean window", BLUE, "s", "-."),
    "iac mode": ("IAC, mode window", GREEN, "^", "--"),
    "iac 30 classes": ("30 intents", VERMILLION, "o", "-"),
    "iac 20 classes": ("20 intents", BLUE, "s", "-"),
    "iac 10 classes": ("10 intents", GREEN, "^", "-"),
}


def _styles(looks: dict[str, tuple]) -> MappingProxyType:
    return MappingProxyType(
        {
            name: MappingProxyType({"color": color, "marker": marker, "linestyle": line})
            for name, (_, color, marker, line) in looks.items()
        }
    )


POLICY_STYLE = _styles(_LOOK)
"""Keyword arguments for `Axes.plot`, by policy name."""

VARIANT_STYLE = _styles(_VARIANTS)
"""The same for variants of a policy, such as IAC with fewer signals."""


def policy_style(policy: str) -> dict[str, object]:
    """Return the look of a policy as keyword arguments for `Axes.plot`.

    Parameters
    ----------
    policy
        A policy's name, such as ``"lru"``. A name that is not in `POLICY_STYLE` gets a look
        that depends on the name alone, not on which figure asks first.

    Returns
    -------
    dict
        ``color``, ``marker`` and ``linestyle``.
    """
    known = POLICY_STYLE.get(policy) or VARIANT_STYLE.get(policy)
    if known:
        return dict(known)
    # hash() differs between processes.
    digest = hashlib.sha256(policy.encode()).digest()
    colors = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
    lines = ("-", "--", "-.", ":", _LONG_DASH, _DASH_DOT_DOT)
    markers = ("8", "1", "2", "3", "4", "+", "x", "|", "_")
    return {
        "color": colors[digest[0] % len(colors)],
        "marker": markers[digest[1] % len(markers)],
        "linestyle": lines[digest[2] % len(lines)],
    }


def label(policy: str) -> str:
    """Return the name a reader sees for a policy; an unknown name is its own label."""
    return (_LOOK | _VARIANTS).get(policy, (policy,))[0]


def use_style() -> None:
    """Make this kit's look the default of every figure drawn from here on."""
    with as_file(files("iac_lib.figures") / "style.mplstyle") as path:
        plt.style.use(path)
