"""How IAC works, as one drawing: classifier, statistics, eviction policy (IAC, Fig. 4)."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from iac_lib.figures.style import BLACK, BLUE, GREEN, VERMILLION
from iac_lib.figures.tree import format_priority

WIDTH, HEIGHT = 10.2, 5.0
BOX = (1.75, 0.74)
# Middle of each box of the tree.
SPOTS = {"A": (5.0, 3.7), "B": (4.05, 2.5), "D": (6.05, 2.5), "C": (4.05, 1.3)}
EDGES = (("A", "B"), ("A", "D"), ("B", "C"))


def draw_overview(nodes: pd.DataFrame, intents: Sequence[str], now_s: float) -> Figure:
    """Draw the three parts of IAC around a radix tree of four nodes.

    Parameters
    ----------
    nodes : DataFrame
        From `take_snapshot` under IAC: a prefix A with two children, B and D, and C below B.
        The priorities and the victim are what the policy said.
    intents : sequence of str
        Names in code order.
    now_s : float
        Time of the snapshot.

    Raises
    ------
    ValueError
        If the tree has another shape.
    """
    letters = name_nodes(nodes)
    fig, ax = plt.subplots(figsize=(WIDTH, HEIGHT))
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(0, HEIGHT)
    ax.axis("off")
    lines = "the user's last queries\n→ text embedder (frozen)\n"
    lines += "→ small classifier\n→ intent i, kept in the node"
    draw_part(ax, (0.1, 2.95), (2.5, 1.55), BLUE, "1  Intent classifier", lines)
    lines = "completed conversations\n→ for every (intent i, turn t):\n"
    lines += "    P(t+1 | i, t)   do they go on?\n    M(i, t)   how soon? (median)"
    draw_part(ax, (0.1, 0.15), (2.5, 1.55), GREEN, "2  Reuse statistics", lines)
    lines = "priority of every leaf:\n( 1[age < M],  P,  size )\nthe lowest is evicted first"
    draw_part(ax, (7.6, 1.85), (2.5, 1.35), VERMILLION, "3  Eviction policy", lines)
    draw_part(ax, (2.95, 0.15), (4.15, 4.65), "0.6", "KV cache: radix tree of prefixes", "")
    for above, below in EDGES:
        draw_arrow(ax, SPOTS[above], SPOTS[below], "0.5", style="-")
    for letter, node in letters.items():
        draw_node(ax, letter, node, intents, now_s)

    ax.text(1.35, 4.88, "new request (turn t)", size=8, ha="center", va="center")
    draw_arrow(ax, (1.35, 4.78), (1.35, 4.5), BLACK)
    draw_arrow(ax, (2.6, 3.7), (2.95, 3.7), BLUE)
    draw_arrow(ax, (1.35, 2.95), (1.35, 1.7), BLUE)
    ax.text(1.45, 2.32, "i of every request", size=7.5, color=BLUE, va="center")
    draw_arrow(ax, (2.6, 0.5), (8.85, 1.85), GREEN, bend="angle,angleA=0,angleB=90,rad=6")
    draw_arrow(ax, (7.6, 2.5), (6.96, 2.5), VERMILLION)
    ax.text(7.28, 2.56, "evict", size=7.5, color=VERMILLION, ha="center", va="bottom")
    ax.text(5.1, 0.58, "P and M, refitted periodically", size=7.5, color=GREEN, ha="center")
    return fig


def name_nodes(nodes: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the nodes by letter; raise unless the tree is A above B and D, and C below B."""
    below = {parent: list(rows.index) for parent, rows in nodes.groupby("parent")}
    shape = sorted(len(children) for children in below.values())
    if len(nodes) != 4 or shape != [1, 1, 2]:
        raise ValueError("the overview draws a tree of four nodes: A above B and D, C below B")
    (a,) = below[0]
    b, d = sorted(below[a], key=lambda node: node not in below)
    (c,) = below[b]
    return {letter: nodes.loc[node] for letter, node in zip("ABCD", (a, b, c, d), strict=True)}


def draw_part(
    ax: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    color: str,
    title: str,
    text: str,
) -> None:
    """Draw a titled box; `corner` is its lower left."""
    style = "round,pad=0,rounding_size=0.1"
    look = {"facecolor": "white", "edgecolor": color, "linewidth": 1.6}
    ax.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, zorder=0, **look))
    x, top = corner[0] + 0.12, corner[1] + size[1]
    ink = BLACK if color == "0.6" else color
    ax.text(x, top - 0.12, title, weight="bold", size=9.5, va="top", color=ink)
    ax.text(x, top - 0.48, text, size=8, va="top", linespacing=1.5)


def draw_node(ax: Axes, letter: str, node: pd.Series, intents: Sequence[str], now_s: float) -> None:
    """Draw one node of the tree; a leaf shows its priority, the victim a thick frame."""
    x, y = SPOTS[letter]
    victim = node["rank"] == 0
    style = "round,pad=0,rounding_size=0.1"
    look = {
        "facecolor": "#F7C9A7" if victim else "#F4F4F4",
        "edgecolor": BLACK if victim else "0.45",
    }
    corner = (x - BOX[0] / 2, y - BOX[1] / 2)
    width = 2.2 if victim else 0.8
    ax.add_patch(FancyBboxPatch(corner, *BOX, boxstyle=style, linewidth=width, zorder=2, **look))
    text = f"{node['tokens']:,} tokens, age {now_s - node['created_s']:.0f} s"
    if letter != "A":
        text = f"{intents[node['intent']]}, t = {node['turn']}\n{text}"
    else:
        text = f"shared prefix\n{text}"
    ax.text(corner[0] + 0.08, y, letter, weight="bold", size=11, va="center", zorder=3)
    ax.text(corner[0] + 0.32, y, text, size=6.5, va="center", linespacing=1.4, zorder=3)
    if node["leaf"]:
        ink = VERMILLION if victim else BLACK
        text = format_priority(node["priority"]) + ("\nlowest: evicted first" if victim else "")
        ax.text(x, y - 0.45, text, size=8, color=ink, ha="center", va="top", zorder=3)


def draw_arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    color: str,
    *,
    style: str = "-|>",
    bend: str = "arc3",
) -> None:
    """Draw an arrow (or, with style ``-``, a line)."""
    look = {"arrowstyle": style, "color": color, "lw": 1.3, "connectionstyle": bend}
    ax.annotate("", end, start, arrowprops={"shrinkA": 0, "shrinkB": 0} | look, zorder=1)
