"""Curves and bars show what they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from iac_lib.figures.curves import plot_bars, plot_curves, plot_differences
from iac_lib.figures.style import policy_style


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def summary() -> pd.DataFrame:
    rows = [
        {"policy": p, "capacity_tokens": c, "mean": m, "low": m - 0.01, "high": m + 0.01}
        for p, start in (("lru", 0.1), ("iac", 0.2))
        for c, m in ((80_000, start), (170_000, start + 0.1))
    ]
    return pd.DataFrame(rows)


def test_one_line_per_policy_in_percent_over_thousand_tokens(summary):
    (ax,) = plot_curves(summary, "capacity_tokens").axes
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"LRU", "IAC"}
    assert lines["IAC"].get_xdata().tolist() == [80, 170]
    assert lines["IAC"].get_ydata() == pytest.approx([20, 30])
    assert lines["IAC"].get_color() == policy_style("iac")["color"]
    assert len(ax.collections) == 2, "a band per policy"


def test_the_legend_is_in_the_order_of_the_curves(summary):
    (ax,) = plot_curves(summary, "capacity_tokens").axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["IAC", "LRU"]


def test_without_intervals_there_is_no_band(summary):
    bare = summary.assign(low=np.nan, high=np.nan)
    (ax,) = plot_curves(bare, "capacity_tokens").axes
    assert not ax.collections


def test_a_panel_per_value(summary):
    two = pd.concat([summary.assign(workload=w) for w in ("a", "b")])
    fig = plot_curves(two, "capacity_tokens", panels="workload")
    assert [ax.get_title(loc="left") or ax.get_title() for ax in fig.axes] == ["a", "b"]


def test_bars_are_labelled_with_their_value(summary):
    at = summary[summary["capacity_tokens"] == 80_000]
    (ax,) = plot_bars(at).axes
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([10, 20])
    assert {"10.0", "20.0"} <= {text.get_text() for text in ax.texts}


def test_differences_are_drawn_around_zero():
    rows = [("iac", 100_000, 0.01), ("iac", 200_000, -0.02)]
    table = pd.DataFrame(rows, columns=["policy", "capacity_tokens", "mean"])
    table = table.assign(low=table["mean"] - 0.005, high=table["mean"] + 0.005)
    ax = plot_differences(table, "capacity_tokens", "nobody").axes[0]
    zero, line = ax.lines
    assert set(zero.get_ydata()) == {0}
    assert list(line.get_ydata()) == pytest.approx([1, -2])
    assert "against nobody" in ax.get_ylabel()
