"""What a workload looks like: contexts, intents, follow-ups, the day, what can be reused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iac_lib.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILLION, policy_style

_SOURCES = {
    "sharegpt-prefix": (BLUE, "o", "-"),
    "synthetic wildchat-shaped": (VERMILLION, "s", "--"),
    "synthetic sharechat-shaped": (GREEN, "^", "-."),
    "ragpulse": (PURPLE, "D", "-"),
    "realhumaneval": (ORANGE, "v", "--"),
    "claude-code": (BLACK, "P", ":"),
}
_GROUPS = {
    "chitchat": (BLUE, "o", "-"),
    "code_generation": (VERMILLION, "s", "--"),
    "creative_writing": (GREEN, "^", "-."),
    "rag": (BLUE, "o", "-"),
    "plain": (VERMILLION, "s", "--"),
    "web": (GREEN, "^", "-."),
}


def source_style(source: str) -> dict[str, object]:
    """Return the look of a data set as keyword arguments for `Axes.plot`."""
    return _look(_SOURCES, source)


def group_style(group: str) -> dict[str, object]:
    """Return the look of an intent or request type as keyword arguments for `Axes.plot`."""
    return _look(_GROUPS, group)


def _look(known: dict, name: str) -> dict[str, object]:
    if name not in known:
        return policy_style(name)
    return dict(zip(("color", "marker", "linestyle"), known[name], strict=True))


def plot_context(context: pd.DataFrame) -> Figure:
    """Draw the mean input by turn, one line per source (IAC, Fig. 1b).

    Parameters
    ----------
    context : DataFrame
        From `context_by_turn`, with a column ``source``.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for source, line in context.groupby("source", sort=False):
        ax.plot(line["turn"], line["mean"], label=source, **source_style(source))
    turns = np.sort(context["turn"].unique())
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(turns, [str(turn) for turn in turns])
    ax.yaxis.set_major_formatter(lambda tokens, _: f"{tokens:,.0f}")
    ax.set(xlabel="turn", ylabel="mean input (tokens, log scale)")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def plot_turns_by_intent(turns: pd.DataFrame) -> Figure:
    """Draw mean turns by intent, one marker per source (IAC, Fig. 2a).

    Parameters
    ----------
    turns : DataFrame
        From `turns_by_intent`, with a column ``source``. The last source orders the intents.
    """
    sources = list(dict.fromkeys(turns["source"]))
    order = list(turns[turns["source"] == sources[-1]].sort_values("turns")["intent"])
    fig, ax = plt.subplots(figsize=(6.8, 1.2 + 0.2 * len(order)))
    for source, rows in turns.groupby("source", sort=False):
        rows = rows.set_index("intent").reindex(order)
        look = source_style(source) | {"linestyle": "none"}
        errors = [rows["turns"] - rows["low"], rows["high"] - rows["turns"]]
        ax.errorbar(rows["turns"], range(len(order)), xerr=errors, label=source, lw=1, **look)
    ax.set_yticks(range(len(order)), order, size=8)
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_xlim(left=0)
    ax.set_xlabel("mean turns of a conversation (bars: 95 % interval)")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(sources))
    return fig


def plot_drift(hours: pd.DataFrame, groups: list[str], by: str = "intent") -> Figure:
    """Draw mean turns and median delay by hour of the day, one line per group (IAC, Fig. 3).

    Parameters
    ----------
    hours : DataFrame
        From `behaviour_by_hour`.
    groups : list of str
        Values of the column `by` to show.
    by : str
    """
    fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.8), sharex=True)
    for group in groups:
        line = hours[hours[by] == group]
        axes[0].plot(line["hour"], line["turns"], label=group, **group_style(group))
        axes[1].plot(line["hour"], line["median_delay_s"], **group_style(group))
    axes[0].set_ylabel("mean turns")
    axes[1].set_ylabel("median delay (s)")
    axes[1].set_xlabel("hour in which the conversation starts")
    axes[1].set_xticks(range(0, 24, 2))
    for ax in axes:
        ax.set_ylim(bottom=0)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def plot_continuation(continuation: pd.DataFrame) -> Figure:
    """Draw the probability of a follow-up by turn, one line per source, with its interval.

    Parameters
    ----------
    continuation : DataFrame
        From `continuation_by_turn`, with a column ``source``.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for source, line in continuation.groupby("source", sort=False):
        look = source_style(source)
        ax.plot(line["turn"], line["continuation"], label=source, **look)
        ax.fill_between(
            line["turn"], line["low"], line["high"], color=look["color"], alpha=0.15, lw=0
        )
    ax.set(xlabel="turn", ylabel="probability of a follow-up", ylim=(0, 1.02))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def plot_input_shares(shares: pd.DataFrame) -> Figure:
    """Draw who had asked for the input tokens before, one bar per source.

    Parameters
    ----------
    shares : DataFrame
        ``source`` and the columns of `input_shares`.
    """
    parts = {
        "own": ("same conversation", BLUE),
        "others": ("other conversations only", ORANGE),
        "new": ("new", "0.85"),
    }
    parts = {key: part for key, part in parts.items() if shares[key].max() > 0}
    place = np.arange(len(shares))[::-1]
    left = np.zeros(len(shares))
    fig, ax = plt.subplots(figsize=(6.8, 1.3 + 0.42 * len(shares)))
    for key, (name, color) in parts.items():
        width = 100 * shares[key].to_numpy()
        ax.barh(place, width, 0.62, left, color=color, label=name)
        write_shares(ax, place, left, width, color)
        left += width
    ax.set_yticks(place, shares["source"])
    ax.set(xlabel="share of all input tokens (%)", xlim=(0, 100))
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(parts))
    return fig


def write_shares(
    ax: Axes, place: np.ndarray, left: np.ndarray, width: np.ndarray, color: str
) -> None:
    """Write each width into the middle of its bar, if there is room."""
    ink = "white" if color == BLUE else BLACK
    for y, start, part in zip(place, left, width, strict=True):
        if part >= 4:
            ax.text(start + part / 2, y, f"{part:.1f}", ha="center", va="center", color=ink, size=8)
