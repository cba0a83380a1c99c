"""A label read out of what a model said, mended where there is no doubt what was meant.

Knows the labels there are; nothing of models or conversations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

NEAR = 0.85


@dataclass(frozen=True)
class ReadLabel:
    """A label and whether it had to be mended.

    Parameters
    ----------
    name : str
    mended : bool
    """

    name: str
    mended: bool


def read_label(text: str, names: tuple[str, ...]) -> ReadLabel | None:
    """Return the label that `text` gives, or None if it gives none or more than one.

    Mended are case, quotes, punctuation, blanks for underscores, something like "Label:" in
    front, prose around the only label mentioned, and a misspelling near to one label alone.

    Parameters
    ----------
    text : str
        What the model said.
    names : tuple of str
        The labels, in lower case with underscores.
    """
    if text in names:
        return ReadLabel(text, mended=False)
    bare = normalise_label(text.rpartition(":")[2]) or normalise_label(text)
    if bare in names:
        return ReadLabel(bare, mended=True)
    mentioned = find_mentioned(normalise_label(text), names)
    if not mentioned:
        mentioned = get_close_matches(bare, names, n=2, cutoff=NEAR)
    return ReadLabel(mentioned[0], mended=True) if len(mentioned) == 1 else None


def normalise_label(text: str) -> str:
    """Return `text` in lower case, every run of other characters than letters or digits as _."""
    return re.sub(r"[\W_]+", "_", text.lower()).strip("_")


def find_mentioned(text: str, names: tuple[str, ...]) -> list[str]:
    """Return the names that occur in normalised `text`, unless inside of a longer one."""
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    found = re.findall(rf"(?:^|_)({pattern})(?=_|$)", text)
    return list(dict.fromkeys(found))
