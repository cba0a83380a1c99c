"""How leaves are judged while time goes by: priorities, and the queue they make."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure


def draw_priorities(judged: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw, per policy, each leaf's priority (above) and its place in the queue (below).

    Parameters
    ----------
    judged : DataFrame
        From `follow_priorities`, with ``value`` (float): what is drawn of the priority.
    titles : mapping of str to str
        Panel titles by policy, in order.
    """
    fig, axes = plt.subplots(
        2, len(titles), figsize=(3.1 * len(titles), 5.4), sharex=True, squeeze=False
    )
    for column, (policy, title) in enumerate(titles.items()):
        rows = judged[judged["policy"] == policy]
        axes[0, column].set_title(title, size=9)
        draw_lines(axes[0, column], rows, "value")
        draw_lines(axes[1, column], rows.assign(place=rows["rank"] + 1), "place")
        axes[1, column].set_xlabel("time (s)")
        axes[1, column].set_yticks(range(1, int(rows["rank"].max()) + 2))
        axes[1, column].invert_yaxis()
    axes[0, 0].set_ylabel("priority (lowest goes)")
    axes[1, 0].set_ylabel("place in the queue (1 goes)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside right center", title="leaf")
    return fig


def draw_lines(ax: Axes, rows: pd.DataFrame, y: str) -> None:
    """Draw one line per conversation."""
    for name, line in rows.groupby("conversation", sort=True):
        step = "steps-post" if y == "place" else "default"
        ax.plot(line["time_s"], line[y], label=name, drawstyle=step, markevery=0.2, markersize=4)
