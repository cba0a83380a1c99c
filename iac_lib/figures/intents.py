"""How well intents are found: accuracy with intervals, confusions, calibration, coverage."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from iac_lib.figures.style import BLACK, BLUE, GREEN, VERMILLION

LEVEL_STYLE = {30: (VERMILLION, "o"), 20: (BLUE, "s"), 10: (GREEN, "^")}


def plot_accuracy(scores: pd.DataFrame, measure: str = "accuracy") -> Figure:
    """Draw a measure per classifier with its interval, one marker per number of classes.

    Parameters
    ----------
    scores : DataFrame
        ``model, classes, accuracy, accuracy_low, accuracy_high`` (and the same for another
        measure), shares of one; models in the order in which they are drawn, top first.
        A column ``paper`` (share, or NaN) is drawn as a cross.
    measure : str
        Column to draw.
    """
    models = list(dict.fromkeys(scores["model"]))[::-1]
    fig, ax = plt.subplots(figsize=(6.8, 1.2 + 0.5 * len(models)))
    for number, (classes, rows) in enumerate(scores.groupby("classes", sort=False)):
        at = np.array([models.index(m) for m in rows["model"]]) + 0.2 * (1 - number)
        color, marker = LEVEL_STYLE[classes]
        low, high = rows[measure] - rows[f"{measure}_low"], rows[f"{measure}_high"] - rows[measure]
        ax.errorbar(
            100 * rows[measure], at, xerr=[100 * low, 100 * high], fmt=marker, color=color,
            lw=1, label=f"{classes} intents",
        )  # fmt: skip
    if "paper" in scores and scores["paper"].notna().any():
        said = scores.dropna(subset="paper").drop_duplicates("model")
        ax.plot(
            100 * said["paper"], [models.index(m) + 0.2 for m in said["model"]], "x", color=BLACK,
            label="paper, 30 intents",
        )  # fmt: skip
    ax.set_yticks(range(len(models)), models)
    ax.set_ylim(-0.6, len(models) - 0.4)
    ax.set(xlabel=f"{measure.replace('_', ' ')} (%; bars: 95 % interval)", xlim=(0, 100))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return fig


def plot_confusion(matrix: pd.DataFrame) -> Figure:
    """Draw a confusion matrix, rows (true intents) as shares of their row.

    Parameters
    ----------
    matrix : DataFrame
        Counts, true intents as index, predicted ones as columns.
    """
    counts = matrix.to_numpy(float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    fig, ax = plt.subplots(figsize=(2.6 + 0.2 * len(matrix.columns), 2.2 + 0.2 * len(matrix)))
    image = ax.imshow(100 * shares, cmap="Blues", vmin=0, vmax=100)
    totals = [f"{name} ({int(n)})" for name, n in zip(matrix.index, counts.sum(1), strict=True)]
    ax.set_yticks(range(len(matrix)), totals, size=7)
    ax.set_xticks(range(len(matrix.columns)), matrix.columns, rotation=90, size=7)
    ax.set(xlabel="predicted", ylabel="gold label (contexts)")
    ax.grid(visible=False)
    fig.colorbar(image, ax=ax, shrink=0.6, label="share of the row (%)")
    return fig


def plot_reliability(table: pd.DataFrame) -> Figure:
    """Draw how often a prediction is right against how sure the classifier was.

    Parameters
    ----------
    table : DataFrame
        ``model, confidence, accuracy, accuracy_low, accuracy_high``: one row per bin.
    """
    fig, ax = plt.subplots(figsize=(5.2, 4.2))
    ax.plot([0, 1], [0, 1], color="0.7", lw=1, ls="--", marker="", label="as sure as right")
    for (model, rows), color, marker in zip(
        table.groupby("model", sort=False), (VERMILLION, BLUE, GREEN), "os^", strict=False
    ):
        errors = [rows["accuracy"] - rows["accuracy_low"], rows["accuracy_high"] - rows["accuracy"]]
        ax.errorbar(
            rows["confidence"], rows["accuracy"], yerr=errors, color=color, marker=marker,
            lw=1, label=model,
        )  # fmt: skip
    ax.set(xlabel="mean confidence of the bin", ylabel="share that is right")
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02))
    ax.legend(loc="upper left")
    return fig


def plot_coverage(coverage: pd.DataFrame) -> Figure:
    """Draw the share of contexts that the most frequent intents cover.

    Parameters
    ----------
    coverage : DataFrame
        ``source, intents`` (how many, most frequent first), ``covered`` (share).
    """
    fig, ax = plt.subplots(figsize=(6.0, 3.8))
    for source, line in coverage.groupby("source", sort=False):
        ax.plot(line["intents"], 100 * line["covered"], label=source, markersize=3)
    ax.set(xlabel="intents, most frequent first", ylabel="requests covered (%)", ylim=(0, 102))
    ax.legend(loc="lower right")
    return fig


def plot_shares(shares: pd.DataFrame) -> Figure:
    """Draw how frequent each intent is, one marker per source, with intervals.

    Parameters
    ----------
    shares : DataFrame
        ``source, intent, share, low, high``; the first source orders the intents.
    """
    sources = list(dict.fromkeys(shares["source"]))
    first = shares[shares["source"] == sources[0]].sort_values("share")
    order = list(first["intent"])
    fig, ax = plt.subplots(figsize=(6.8, 1.2 + 0.2 * len(order)))
    for number, (source, color, marker) in enumerate(
        zip(sources, (BLACK, VERMILLION, BLUE), "so^", strict=False)
    ):
        rows = shares[shares["source"] == source].set_index("intent").loc[order]
        errors = [100 * (rows["share"] - rows["low"]), 100 * (rows["high"] - rows["share"])]
        ax.errorbar(
            100 * rows["share"], np.arange(len(order)) - 0.3 * (number - (len(sources) - 1) / 2),
            xerr=errors, fmt=marker, color=color, lw=1, markersize=4, label=source,
        )  # fmt: skip
    ax.set_yticks(range(len(order)), order, size=8)
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_xlim(left=-0.2)
    ax.set_xlabel("share of requests (%; bars: 95 % interval)")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(sources))
    return fig


def plot_learning(learning: pd.DataFrame, paper: float) -> Figure:
    """Draw accuracy against the number of labels learned from, one line per number of classes.

    Parameters
    ----------
    learning : DataFrame
        ``labels, classes, accuracy, accuracy_low, accuracy_high``.
    paper : float
        The paper's accuracy at thirty intents, drawn as a line.
    """
    fig, ax = plt.subplots(figsize=(6.0, 3.8))
    for classes, line in learning.groupby("classes", sort=False):
        color, marker = LEVEL_STYLE[classes]
        ax.plot(
            line["labels"], 100 * line["accuracy"], color=color, marker=marker, label=f"{classes}"
        )
        ax.fill_between(
            line["labels"], 100 * line["accuracy_low"], 100 * line["accuracy_high"],
            color=color, alpha=0.15, lw=0,
        )  # fmt: skip
    ax.axhline(100 * paper, color=BLACK, ls="--", lw=1, label="30, paper (E5-small)")
    ax.set_xscale("log", base=2)
    ax.set_xticks(learning["labels"].unique(), [f"{n:,}" for n in learning["labels"].unique()])
    ax.set(xlabel="labels learned from", ylabel="accuracy (%)", ylim=(0, 100))
    ax.legend(title="intents", loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def plot_refusal(refusal: pd.DataFrame) -> Figure:
    """Draw accuracy against the share of requests that are given a label at all.

    Parameters
    ----------
    refusal : DataFrame
        From `refuse_unsure`.
    """
    fig, ax = plt.subplots(figsize=(5.2, 3.8))
    ax.plot(100 * refusal["kept"], 100 * refusal["accuracy"], color=VERMILLION, marker="o")
    for row in refusal.iloc[4::4].itertuples():
        ax.annotate(
            f"sure of {row.threshold:.0%}", (100 * row.kept, 100 * row.accuracy), (6, 4),
            textcoords="offset points", size=8,
        )  # fmt: skip
    ax.set(xlabel="requests that get a label (%)", ylabel="labels that are right (%)")
    ax.set(xlim=(0, 104), ylim=(0, 102))
    return fig


def plot_outside(outside: pd.DataFrame) -> Figure:
    """Draw how often predictions count as right, one bar per label, sources apart.

    Parameters
    ----------
    outside : DataFrame
        From `outside.judge`.
    """
    colors = dict(zip(outside["source"].unique(), (BLUE, GREEN, VERMILLION), strict=False))
    rows = outside.iloc[::-1].reset_index(drop=True)
    fig, ax = plt.subplots(figsize=(6.8, 1.2 + 0.2 * len(rows)))
    for source, part in rows.groupby("source", sort=False):
        ax.barh(part.index, 100 * part["right"], 0.7, color=colors[source], label=source)
    for at, row in rows.iterrows():
        ax.text(100 * row["right"] + 1, at, row["commonest"], va="center", size=7, color="0.3")
    ax.set_yticks(rows.index, [f"{r.label} ({r.requests})" for r in rows.itertuples()], size=8)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set(xlabel="counts as right (%; in grey: what was predicted most often)", xlim=(0, 125))
    ax.set_xticks(range(0, 101, 20))
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return fig
