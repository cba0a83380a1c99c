"""A radix tree small enough to read: what is cached, and who goes first."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from iac_lib.figures.style import BLACK, VERMILLION

# Across in inches, down in rows.
ROW_INCHES, BOX_HEIGHT, TEXT = 0.56, 0.74, 7.5
NARROWEST, WIDEST = 2.0, 2.7  # a box is as wide as its tokens say, between these
GAP, CELL, HEAD = 0.35, 0.37, -0.8
INNER = "#EDEDED"
# One hue, darker = sooner; told apart by lightness alone.
SOON_TO_LATE = ("#E8894A", "#F2AE7E", "#F7C9A7", "#FADCC6", "#FCEBDF", "#FEF6F0")


def place_nodes(nodes: pd.DataFrame) -> pd.DataFrame:
    """Return left edge ``x``, middle ``y`` (rows, downwards) and ``width`` of every node.

    Children stand right of their parent, leaves one per row.
    """
    children = {parent: list(rows.index) for parent, rows in nodes.groupby("parent")}
    share = nodes["tokens"] / nodes["tokens"].max()
    place = pd.DataFrame(index=nodes.index, columns=["x", "y", "width"], dtype=float)
    place["width"] = NARROWEST + (WIDEST - NARROWEST) * share
    rows = iter(range(len(nodes)))

    def descend(node: int, x: float) -> float:
        place.loc[node, "x"] = x
        below = children.get(node, [])
        right = x + place.loc[node, "width"] + GAP
        y = sum(descend(child, right) for child in below) / len(below) if below else next(rows)
        place.loc[node, "y"] = y
        return y

    for top in children[0]:
        descend(top, 0.0)
    return place


def describe_node(
    node: pd.Series, intents: Sequence[str], now_s: float, shared: bool = False
) -> str:
    """Return the text inside a node's box: who and what, then size, age and uses."""
    intent = intents[node["intent"]] if node["intent"] >= 0 else "unknown intent"
    head = f"{node['conversation']}, turn {node['turn']}: {intent}"
    if shared:
        head = "shared prefix"
    age = now_s - node["created_s"]
    uses = f", {node['hits']} uses" if node["hits"] > 1 else ""
    return f"{head}\n{node['tokens']:,} tokens, age {age:.0f} s{uses}"


def format_priority(priority: Sequence[float]) -> str:
    """Return a priority as it would be written on paper."""
    return (
        "("
        + ", ".join(f"{value:.3g}" if value < 1e3 else f"{value:.0f}" for value in priority)
        + ")"
    )


def draw_tree(
    nodes: pd.DataFrame, intents: Sequence[str], now_s: float, *, title: str = ""
) -> Figure:
    """Draw the nodes of `take_snapshot`; leaves are the darker, the sooner they go.

    Parameters
    ----------
    nodes : DataFrame
        From `take_snapshot`.
    intents : sequence of str
        Names in code order.
    now_s : float
        Time of the snapshot, for ages.
    title : str
    """
    place = place_nodes(nodes)
    right = (place["x"] + place["width"]).max()
    fig, ax = make_canvas(place, right + 2.8)
    draw_nodes(ax, nodes, place, intents, now_s)
    for node, row in nodes[nodes["leaf"]].iterrows():
        draw_rank(ax, row, place.loc[node], right)
    write(ax, right + 0.35, HEAD, "goes", weight="bold")
    write(ax, right + 1.0, HEAD, "priority", weight="bold")
    ax.set_title(title)
    return fig


def draw_queues(
    nodes: pd.DataFrame, ranks: pd.DataFrame, intents: Sequence[str], now_s: float
) -> Figure:
    """Draw the tree once and, beside its leaves, their place in the queue of every policy.

    Parameters
    ----------
    nodes, intents, now_s
        As for `draw_tree`; the ranks in `nodes` do not matter.
    ranks : DataFrame
        From `rank_leaves`.
    """
    nodes = nodes.assign(rank=-1)
    place = place_nodes(nodes)
    right = (place["x"] + place["width"]).max() + 0.3
    fig, ax = make_canvas(
        place, right + CELL * len(ranks), top=HEAD - 0.1 * max(map(len, ranks.index))
    )
    draw_nodes(ax, nodes, place, intents, now_s)
    for column, (policy, row) in enumerate(ranks.iterrows()):
        x = right + CELL * column
        write(ax, x + 0.12, HEAD + 0.25, policy, rotation=60, va="bottom")
        for node in nodes.index[nodes["leaf"]]:
            draw_cell(ax, x, place.loc[node, "y"], row[nodes.loc[node, "conversation"]] - 1)
    return fig


def make_canvas(place: pd.DataFrame, right: float, top: float = -1.1) -> tuple[Figure, Axes]:
    """Return empty axes in units of one row, from `top` to the last row."""
    rows = place["y"].max() + 1
    width, height = right + 0.6, rows - 0.4 - top
    fig, ax = plt.subplots(figsize=(width, ROW_INCHES * height))
    ax.set_xlim(-0.6, right)
    ax.set_ylim(rows - 0.4, top)
    ax.axis("off")
    return fig, ax


def write(ax: Axes, x: float, y: float, text: str, **look: object) -> None:
    """Put `text` at (x, y), by default left-aligned and vertically centred."""
    ax.text(x, y, text, **{"size": TEXT, "va": "center", "zorder": 3} | look)


def draw_nodes(
    ax: Axes, nodes: pd.DataFrame, place: pd.DataFrame, intents: Sequence[str], now_s: float
) -> None:
    """Draw boxes and the edges between them."""
    children = nodes["parent"].value_counts()
    for node, spot in place.iterrows():
        row = nodes.loc[node]
        draw_edge(ax, place, row["parent"], spot)
        draw_box(ax, row, spot, describe_node(row, intents, now_s, children.get(node, 0) > 1))


def draw_edge(ax: Axes, place: pd.DataFrame, parent: int, spot: pd.Series) -> None:
    """Join a node with its parent (0: the root, drawn as a dot left of everything)."""
    if parent == 0:
        ax.plot([-0.4, spot["x"]], [spot["y"]] * 2, color="0.5", lw=1, marker="", ls="-", zorder=1)
        ax.plot(-0.4, spot["y"], "o", color=BLACK, ms=5, zorder=2)
        return
    above = place.loc[parent]
    start, end = above["x"] + above["width"], spot["x"]
    elbow = start + GAP / 2
    xs, ys = [start, elbow, elbow, end], [above["y"]] * 2 + [spot["y"]] * 2
    ax.plot(xs, ys, color="0.5", lw=1, marker="", ls="-", zorder=1)


def draw_box(ax: Axes, node: pd.Series, spot: pd.Series, text: str) -> None:
    """Draw one node; the next victim gets a thick frame."""
    victim = node["rank"] == 0
    color = shade(node["rank"]) if node["rank"] >= 0 else INNER
    corner = (spot["x"], spot["y"] - BOX_HEIGHT / 2)
    ax.add_patch(
        FancyBboxPatch(
            corner,
            spot["width"],
            BOX_HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=color,
            edgecolor=BLACK if victim else "0.45",
            linewidth=2.2 if victim else 0.8,
            zorder=2,
        )
    )
    write(ax, spot["x"] + 0.09, spot["y"], text, linespacing=1.35)


def draw_rank(ax: Axes, node: pd.Series, spot: pd.Series, right: float) -> None:
    """Print a leaf's place in the queue and its priority right of the tree."""
    victim = node["rank"] == 0
    look = {"color": VERMILLION, "weight": "bold"} if victim else {}
    y = spot["y"]
    write(ax, right + 0.35, y, "first" if victim else f"{node['rank'] + 1}.", **look)
    write(ax, right + 1.0, y, format_priority(node["priority"]), **look)
    ends = [spot["x"] + spot["width"] + 0.08, right + 0.2]
    ax.plot(ends, [y, y], color="0.75", lw=0.8, ls=":", marker="", zorder=1)


def draw_cell(ax: Axes, x: float, y: float, rank: int) -> None:
    """Draw one place in one queue as a square, the next victim framed."""
    look = {"edgecolor": BLACK, "linewidth": 2} if rank == 0 else {"edgecolor": "0.8"}
    ax.add_patch(Rectangle((x, y - 0.3), CELL - 0.06, 0.6, facecolor=shade(rank), **look))
    weight = "bold" if rank == 0 else "normal"
    write(ax, x + CELL / 2 - 0.03, y, str(rank + 1), ha="center", weight=weight)


def shade(rank: int) -> str:
    """Return the colour of a place in the queue."""
    return SOON_TO_LATE[min(rank, len(SOON_TO_LATE) - 1)]
