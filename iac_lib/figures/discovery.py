"""Intent discovery as it proceeds, and what its classes correspond to."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from iac_lib.figures.style import BLACK, BLUE, VERMILLION
from iac_lib.intents.taxonomy import LEVELS, load_taxonomy, name_groups
from iac_lib.traces.describe import wilson_interval

GROUP_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def draw_merges() -> Figure:
    """Draw which of the thirty intents make up which of the twenty and of the ten."""
    thirty, twenty, ten = (load_taxonomy(classes).names for classes in LEVELS)
    in_twenty, in_ten = name_groups(20), name_groups(10)
    # Intents that are merged stand together, so that few lines cross.
    order = sorted(thirty, key=lambda n: (ten.index(in_ten[n]), twenty.index(in_twenty[n])))
    at = {name: -float(place) for place, name in enumerate(order)}
    fig, ax = plt.subplots(figsize=(8.6, 6.4))
    for names, groups, x, align in ((twenty, in_twenty, 0, "right"), (ten, in_ten, 3, "left")):
        members = {group: [n for n in order if groups[n] == group] for group in names}
        middle = {group: np.mean([at[n] for n in found]) for group, found in members.items()}
        placed = dict(
            zip(sorted(names, key=middle.get), spread(len(names), len(order)), strict=True)
        )
        inner = 0.8 if x == 0 else 2.2
        for group, found in members.items():
            color = GROUP_COLORS[ten.index(in_ten[found[0]]) % len(GROUP_COLORS)]
            several = len(found) > 1
            ax.text(
                x, placed[group], f"  {group}  ", ha=align, va="center", size=8,
                weight="bold" if several else "normal",
            )  # fmt: skip
            for name in found:
                ends = [at[name], placed[group]]
                ax.plot(
                    [inner, x], ends, color=color, ls="-", marker="", lw=1.8 if several else 0.7
                )
    for name, height in at.items():
        ax.text(1.5, height, name, ha="center", va="center", size=8)
    for x, heading in ((0, "20 intents"), (1.5, "30 intents"), (3, "10 intents")):
        align = {0: "right", 3: "left"}.get(x, "center")
        ax.text(x, 1.6, heading, ha=align, va="center", weight="bold")
    ax.set(xlim=(-1.3, 4.3), ylim=(-len(order), 2.4))
    ax.axis("off")
    return fig


def spread(count: int, room: int) -> list[float]:
    """Return `count` heights from bottom to top, evenly over `room` lines."""
    return list(-(room - 1) + (np.arange(count) + 0.5) * room / count - 0.5)


def plot_iterations(coverage: pd.DataFrame) -> Figure:
    """Draw the share of each minibatch that the classes found before it cover.

    Parameters
    ----------
    coverage : DataFrame
        ``iteration, requests, classes, coverage`` as `Discovery.coverage`; its last row, the
        final classes on all requests, is drawn apart.
    """
    low, high = wilson_interval(coverage["coverage"], coverage["requests"])
    share = coverage["coverage"]
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    errors = 100 * np.array([share - low, high - share])
    last = len(coverage) - 1
    for rows, color, marker, label in (
        (slice(0, last), BLUE, "o", "a minibatch, by classes found before it"),
        (slice(last, None), VERMILLION, "s", "all requests, by the final classes"),
    ):
        ax.errorbar(
            coverage["iteration"][rows], 100 * share[rows], yerr=errors[:, rows], fmt=marker,
            color=color, capsize=3, label=label,
        )  # fmt: skip
    names = [
        f"{row.requests} requests\n{row.classes} classes"
        for row in coverage.itertuples(index=False)
    ]
    ax.set_xticks(coverage["iteration"], names, size=8)
    ax.set(ylabel="covered (%; bars: 95 % interval)", ylim=(50, 102))
    ax.set_xlim(-0.5, last + 0.5)
    ax.legend(loc="lower left")
    return fig


def plot_correspondence(table: pd.DataFrame, given: str, found: str) -> Figure:
    """Draw how many requests are in each pair of classes, as numbers on shades.

    Parameters
    ----------
    table : DataFrame
        Counts, as `iac_lib.intents.correspondence.cross_tabulate` returns them.
    given, found : str
        What rows and columns are.
    """
    counts = table.to_numpy()
    fig, ax = plt.subplots(figsize=(3.0 + 0.22 * table.shape[1], 2.4 + 0.2 * len(table)))
    ax.imshow(np.sqrt(counts), cmap="Blues", aspect="auto", vmax=1.3 * np.sqrt(counts.max()))
    for row, column in np.argwhere(counts):
        ax.text(
            column, row, counts[row, column], ha="center", va="center", size=7,
            color="white" if counts[row, column] > counts.max() / 2 else BLACK,
        )  # fmt: skip
    ax.set_yticks(range(len(table)), [f"{n} ({c})" for n, c in table.sum(axis=1).items()], size=8)
    ax.set_xticks(range(table.shape[1]), table.columns, rotation=90, size=8)
    ax.set(xlabel=found, ylabel=given)
    ax.set_xticks(np.arange(table.shape[1]) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(table)) - 0.5, minor=True)
    ax.grid(visible=False)
    ax.grid(which="minor", color="white", lw=1)
    ax.set_axisbelow(False)
    ax.tick_params(which="minor", length=0)
    return fig
