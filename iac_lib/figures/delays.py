"""How long users take between two turns: distributions, and a log-normal beside them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iac_lib.figures.characterize import group_style, source_style
from iac_lib.figures.style import BLACK, ORANGE, PURPLE, SKY

# Turns of one group share its colour; alone they need colours of their own.
_TURNS = ("-", "--", ":", "-.")
_TURN_COLORS = (BLACK, ORANGE, PURPLE, SKY)
DELAY = "delay between turns (s)"
NO_MARKER = {"marker": "none"}


def plot_delay_cdf(curves: pd.DataFrame) -> Figure:
    """Draw delay CDFs, colour by group and dash by turn (IAC, Fig. 2b).

    Parameters
    ----------
    curves : DataFrame
        From `curves_by`, with ``cdf`` and the columns ``intent`` and ``turn``.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    draw_curves(ax, curves, "cdf")
    ax.set(xlabel=DELAY, ylabel="share of follow-ups that have arrived", ylim=(0, 1))
    ax.legend(loc="lower right")
    return fig


def plot_delay_pdf(panels: dict[str, pd.DataFrame]) -> Figure:
    """Draw delay densities, one panel per grouping, finer and finer (IAC, Fig. 10).

    Parameters
    ----------
    panels : dict of str to DataFrame
        Title and curves (from `curves_by`, with ``pdf``) of each panel.
    """
    rows = (len(panels) + 1) // 2
    fig, axes = plt.subplots(rows, 2, figsize=(9.0, 2.9 * rows), sharex=True, squeeze=False)
    for letter, ax, (title, curves) in zip("abcdefgh", axes.flat, panels.items(), strict=False):
        draw_curves(ax, curves, "pdf")
        ax.set(title=f"({letter}) {title}", ylim=(0, None))
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="upper right")
    for ax in axes[-1]:
        ax.set_xlabel(DELAY)
    for ax in axes[:, 0]:
        ax.set_ylabel("density (1/s)")
    return fig


def draw_curves(ax: Axes, curves: pd.DataFrame, value: str) -> None:
    """Draw every (intent, turn) of `curves`; either column may be missing."""
    keys = [key for key in ("intent", "turn") if key in curves]
    groups = curves.groupby(keys, sort=False, observed=True) if keys else [((), curves)]
    turns = sorted(curves["turn"].unique()) if "turn" in curves else []
    for names, line in groups:
        of = dict(zip(keys, names, strict=True))
        look = {"color": BLACK, "linestyle": "-"}
        if "intent" in of:
            look = group_style(of["intent"])
        if "turn" in of:
            number = turns.index(of["turn"])
            look["linestyle"] = _TURNS[number % len(_TURNS)]
            if "intent" not in of:
                look["color"] = _TURN_COLORS[number % len(_TURN_COLORS)]
        label = ", ".join(f"turn {name}" if key == "turn" else name for key, name in of.items())
        ax.plot(line["delay_s"], line[value], label=label or None, **look | NO_MARKER)
    ax.set_xlim(0, curves["delay_s"].max())


def plot_source_cdf(curves: pd.DataFrame) -> Figure:
    """Draw one delay CDF per source; `curves` has ``source``, ``delay_s`` and ``cdf``."""
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for source, line in curves.groupby("source", sort=False):
        ax.plot(line["delay_s"], line["cdf"], label=source, **source_style(source) | NO_MARKER)
    ax.set(xlabel=DELAY, ylabel="share of follow-ups that have arrived")
    ax.set(xlim=(0, curves["delay_s"].max()), ylim=(0, 1))
    ax.legend(loc="lower right")
    return fig


def plot_qq(points: pd.DataFrame, fits: pd.DataFrame) -> Figure:
    """Draw log-delay quantiles against the normal's, one panel per source.

    Parameters
    ----------
    points : DataFrame
        From `qq_points`, with a column ``source``.
    fits : DataFrame
        The fields of `LogNormalFit`, with a column ``source``.
    """
    columns = min(len(fits), 3)
    rows = -(-len(fits) // columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(0.6 + 2.7 * columns, 3.0 * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for ax, fit in zip(axes.flat, fits.itertuples(), strict=False):
        line = points[points["source"] == fit.source]
        ax.plot((-2.6, 2.6), (-2.6, 2.6), color="0.5", lw=1, linestyle="-", **NO_MARKER)
        look = source_style(fit.source) | {"linestyle": "none", "markersize": 3}
        ax.plot(line["normal"], line["observed"], **look)
        ax.set_title(fit.source, size=9)
        ax.text(0.05, 0.95, f"KS {fit.ks:.3f}\nR² {fit.r2:.3f}", va="top", transform=ax.transAxes)
        ax.set_aspect("equal")
    for ax in axes.flat[len(fits) :]:
        ax.set_axis_off()
    for ax in axes.flat[max(len(fits) - columns, 0) : len(fits)]:
        ax.xaxis.set_tick_params(labelbottom=True)
    high = max(2.8, np.ceil(points["observed"].max()))
    axes[0, 0].set_ylim(min(-2.8, np.floor(points["observed"].min())), high)
    fig.supxlabel("normal quantile", size="medium")
    fig.supylabel("log delay (standardised)", size="medium")
    return fig
