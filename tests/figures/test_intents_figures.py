"""Figures on intents show what they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from iac_lib.figures.intents import (
    plot_accuracy,
    plot_confusion,
    plot_coverage,
    plot_learning,
    plot_outside,
    plot_refusal,
    plot_reliability,
    plot_shares,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def bars(ax):
    """Return the ends of all horizontal error bars by label."""
    return {
        box.get_label(): [segment[:, 0].tolist() for segment in box.lines[2][0].get_segments()]
        for box in ax.containers
    }


def marks(ax):
    """Return the points of all error bars by label."""
    return {box.get_label(): box.lines[0].get_xydata().tolist() for box in ax.containers}


@pytest.fixture
def scores():
    rows = [
        {"model": model, "classes": classes, "accuracy": value, "paper": paper}
        for model, paper, start in (("small", 0.8, 0.6), ("large", np.nan, 0.7))
        for classes, value in ((30, start), (10, start + 0.2))
    ]
    table = pd.DataFrame(rows)
    return table.assign(
        accuracy_low=table["accuracy"] - 0.1, accuracy_high=table["accuracy"] + 0.05
    )


def test_accuracy_is_in_percent_with_its_interval(scores):
    (ax,) = plot_accuracy(scores).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["large", "small"]
    assert bars(ax)["30 intents"] == [pytest.approx([50, 65]), pytest.approx([60, 75])]
    assert [x for x, _ in marks(ax)["10 intents"]] == pytest.approx([80, 90])


def test_the_papers_accuracy_is_a_cross_where_there_is_one(scores):
    def crosses(table):
        (ax,) = plot_accuracy(table).axes
        return [line.get_xdata().tolist() for line in ax.lines if line.get_marker() == "x"]

    assert crosses(scores) == [[80.0]]
    assert crosses(scores.assign(paper=np.nan)) == []


def test_a_confusion_matrix_shows_shares_of_rows_and_their_counts():
    matrix = pd.DataFrame([[3, 1], [0, 0]], index=["a", "b"], columns=["a", "b"])
    ax = plot_confusion(matrix).axes[0]
    assert ax.images[0].get_array().tolist() == [[75, 25], [0, 0]]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a (4)", "b (0)"]


def test_reliability_has_one_line_per_model_beside_the_diagonal():
    rows = [
        {
            "model": m,
            "confidence": c,
            "accuracy": c - 0.1,
            "accuracy_low": c - 0.2,
            "accuracy_high": c,
        }
        for m in ("raw", "cooled")
        for c in (0.5, 0.9)
    ]
    (ax,) = plot_reliability(pd.DataFrame(rows)).axes
    assert np.allclose(marks(ax)["raw"], [[0.5, 0.4], [0.9, 0.8]])
    assert set(marks(ax)) == {"raw", "cooled"}
    diagonal = next(line for line in ax.lines if line.get_label() == "as sure as right")
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert diagonal.get_marker() in ("", "None")


def test_coverage_is_one_curve_per_source():
    table = pd.DataFrame(
        {"source": ["a", "a", "b", "b"], "intents": [1, 2, 1, 2], "covered": [0.6, 1, 0.5, 0.9]}
    )
    (ax,) = plot_coverage(table).axes
    assert {line.get_label(): line.get_ydata().tolist() for line in ax.lines} == {
        "a": [60, 100],
        "b": [50, 90],
    }


def test_the_first_source_orders_the_intents_and_markers_do_not_cover_each_other():
    table = pd.DataFrame(
        [("a", "x", 0.3), ("a", "y", 0.7), ("b", "y", 0.4), ("b", "x", 0.6)],
        columns=["source", "intent", "share"],
    )
    table = table.assign(low=table["share"] - 0.1, high=table["share"] + 0.1)
    (ax,) = plot_shares(table).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y"]
    found = marks(ax)
    assert [x for x, _ in found["a"]] == pytest.approx([30, 70])
    assert [x for x, _ in found["b"]] == pytest.approx([60, 40])
    assert bars(ax)["a"][0] == pytest.approx([20, 40])
    assert found["a"][0][1] > found["b"][0][1]


def test_learning_curves_are_in_percent_and_the_paper_is_a_line():
    learning = pd.DataFrame(
        {
            "labels": [100, 200, 100, 200],
            "classes": [30, 30, 10, 10],
            "accuracy": [0.3, 0.4, 0.5, 0.6],
            "accuracy_low": 0.2,
            "accuracy_high": 0.7,
        }
    )
    ax = plot_learning(learning, paper=0.7).axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert list(drawn["30"]) == pytest.approx([30, 40]) and list(drawn["10"]) == [50, 60]
    assert set(drawn["30, paper (E5-small)"]) == {70}


def test_refusal_goes_from_all_requests_to_the_surest():
    refusal = pd.DataFrame(
        {"threshold": np.linspace(0, 0.8, 9), "kept": np.linspace(1, 0.2, 9), "accuracy": 0.5}
    )
    ax = plot_refusal(refusal).axes[0]
    assert list(ax.lines[0].get_xdata()) == pytest.approx(list(np.linspace(100, 20, 9)))
    assert [text.get_text() for text in ax.texts] == ["sure of 40%", "sure of 80%"]


def test_outside_bars_are_named_and_say_what_was_predicted():
    outside = pd.DataFrame(
        {
            "source": ["a", "a", "b"],
            "label": ["x", "y", "x"],
            "right": [0.2, 0.9, 0.5],
            "requests": [3, 4, 5],
            "commonest": ["p", "q", "r"],
        }
    )
    ax = plot_outside(outside).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()][::-1] == ["x (3)", "y (4)", "x (5)"]
    widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}
    assert widths == {2: pytest.approx(20), 1: pytest.approx(90), 0: pytest.approx(50)}
    assert [text.get_text() for text in ax.texts] == ["r", "q", "p"]
