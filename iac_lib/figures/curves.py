"""Hit-rate figures: curves over capacity or rate, bars at one point."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iac_lib.figures.style import label, policy_style


def plot_curves(
    summary: pd.DataFrame,
    x: str,
    *,
    panels: str | None = None,
    xlabel: str | None = None,
    titles: dict | None = None,
    log_x: bool = False,
) -> Figure:
    """Draw hit rate against `x`, one line per policy, with its confidence band.

    Parameters
    ----------
    summary : DataFrame
        From `summarise`: ``policy``, `x`, ``mean``, ``low``, ``high`` (0..1).
    x : str
        ``capacity_tokens`` or ``rate``, or any numeric column.
    panels : str or None
        Column with one panel per value.
    xlabel : str or None
        Axis label; made from `x` if None.
    titles : dict or None
        Panel titles by value of `panels`.
    log_x : bool
        Whether `x` is on a logarithmic axis.
    """
    groups = [(None, summary)] if panels is None else list(summary.groupby(panels, sort=False))
    fig, axes = plt.subplots(
        1, len(groups), figsize=(1.8 + 3.6 * len(groups), 4.0), sharey=True, squeeze=False
    )
    for ax, (value, frame) in zip(axes[0], groups, strict=True):
        for policy, line in frame.groupby("policy", sort=False):
            draw_line(ax, line.sort_values(x), x, policy)
        ax.set_xlabel(xlabel or AXIS_LABELS.get(x, x))
        scale_axis(ax, x, frame[x].unique(), log_x)
        if value is not None:
            ax.set_title((titles or {}).get(value, str(value)))
    axes[0, 0].set_ylabel("cache hit rate (%)")
    axes[0, 0].set_ylim(bottom=0)
    order_legend(axes[0, -1], groups[-1][1], x)
    return fig


AXIS_LABELS = {
    "capacity_tokens": "cache capacity (thousand tokens)",
    "rate": "new conversations per second",
}


def draw_line(ax: Axes, line: pd.DataFrame, x: str, policy: str) -> None:
    """Draw one policy's line and band on `ax`."""
    at = line[x] / 1000 if x == "capacity_tokens" else line[x]
    look = policy_style(policy)
    ax.plot(at, 100 * line["mean"], label=label(policy), **look)
    if line["low"].notna().all():
        ax.fill_between(
            at, 100 * line["low"], 100 * line["high"], color=look["color"], alpha=0.15, lw=0
        )


def scale_axis(ax: Axes, x: str, values: Sequence[float], log_x: bool) -> None:
    """Put a tick at every value that was measured, if they are few."""
    if log_x:
        ax.set_xscale("log")
        ax.minorticks_off()
    values = np.sort(np.asarray(values, np.float64))
    if len(values) <= 8:
        ticks = values / 1000 if x == "capacity_tokens" else values
        ax.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])


def order_legend(ax: Axes, frame: pd.DataFrame, x: str) -> None:
    """Put the legend right of `ax`, its entries in the order of the lines' right ends."""
    last = frame[frame[x] == frame[x].max()].set_index("policy")["mean"]
    names = {label(policy): value for policy, value in last.items()}
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: -names.get(labels[i], 0.0))
    ax.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )


def plot_bars(summary: pd.DataFrame, *, group: str | None = None) -> Figure:
    """Draw hit rate per policy as bars with confidence intervals.

    Parameters
    ----------
    summary : DataFrame
        ``policy, mean, low, high``; one row per bar.
    group : str or None
        Column whose values become groups of bars.
    """
    policies = list(dict.fromkeys(summary["policy"]))
    groups = [None] if group is None else list(dict.fromkeys(summary[group]))
    width = 0.8 / len(policies) if group else 0.7
    fig, ax = plt.subplots(figsize=(max(5.0, 1.0 + 0.28 * len(summary) + 0.6 * len(groups)), 3.8))
    for number, policy in enumerate(policies):
        rows = summary[summary["policy"] == policy]
        if group:
            place = np.array([groups.index(v) for v in rows[group]])
            place = place + (number - (len(policies) - 1) / 2) * width
        else:
            place = np.array([number])
        errors = np.nan_to_num(100 * np.array([rows["mean"] - rows["low"]]))
        color = policy_style(policy)["color"]
        ax.bar(
            place, 100 * rows["mean"], width * 0.92, color=color, alpha=0.85, label=label(policy)
        )
        ax.errorbar(place, 100 * rows["mean"], errors[0], fmt="none", ecolor="0.2", capsize=2, lw=1)
        for at, mean, error in zip(place, 100 * rows["mean"], errors[0], strict=True):
            ax.annotate(
                f"{mean:.1f}", (at, mean + error), (0, 3), textcoords="offset points",
                ha="center", size=7,
            )  # fmt: skip
    if group:
        ax.set_xticks(range(len(groups)), [str(g) for g in groups])
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        ax.set_xticks(range(len(policies)), [label(p) for p in policies], rotation=35, ha="right")
    ax.set_ylabel("cache hit rate (%)")
    ax.grid(axis="x", visible=False)
    return fig


def plot_differences(summary: pd.DataFrame, x: str, baseline: str) -> Figure:
    """Draw how far policies are above or below a baseline, with confidence bands.

    Parameters
    ----------
    summary : DataFrame
        `summarise` of differences: ``policy``, `x`, ``mean``, ``low``, ``high``.
    x : str
        ``capacity_tokens`` or ``rate``.
    baseline : str
        What a reader calls the policy at zero.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    ax.axhline(0, color="0.4", lw=1)
    for policy, line in summary.groupby("policy", sort=False):
        draw_line(ax, line.sort_values(x), x, policy)
    ax.set_xlabel(AXIS_LABELS.get(x, x))
    scale_axis(ax, x, summary[x].unique(), log_x=False)
    ax.set_ylabel(f"hit rate against {baseline}\n(percentage points)")
    order_legend(ax, summary, x)
    return fig
