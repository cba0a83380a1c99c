"""Figures of discovery show what they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from iac_lib.figures.discovery import draw_merges, plot_correspondence, plot_iterations
from iac_lib.intents.taxonomy import LEVELS, load_taxonomy, name_groups


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_every_intent_of_every_level_is_drawn_once_and_joined_to_its_groups():
    (ax,) = draw_merges().axes
    at = {(t.get_text().strip(), t.get_position()[0]): t.get_position()[1] for t in ax.texts}
    for classes, x in zip(LEVELS, (1.5, 0, 3), strict=True):
        assert {(name, x) for name in load_taxonomy(classes).names} <= set(at)
    assert len(ax.texts) == sum(LEVELS) + 3
    lines = {tuple(line.get_ydata()) for line in ax.lines}
    assert lines == {
        (at[name, 1.5], at[group, x])
        for classes, x in ((20, 0), (10, 3))
        for name, group in name_groups(classes).items()
    }


def test_the_last_row_is_drawn_apart_and_all_have_intervals():
    table = pd.DataFrame(
        [(0, 30, 7, 0.5), (1, 30, 9, 1.0), (2, 60, 8, 0.9)],
        columns=["iteration", "requests", "classes", "coverage"],
    )
    (ax,) = plot_iterations(table).axes
    batches, final = (box.lines[0].get_xydata().tolist() for box in ax.containers)
    assert batches == [[0, 50], [1, 100]] and final == [[2, 90]]
    whole = ax.containers[0].lines[2][0].get_segments()[1][:, 1]
    assert whole[0] == pytest.approx(88.6, abs=0.1) and whole[1] == 100
    assert [t.get_text() for t in ax.get_xticklabels()][1] == "30 requests\n9 classes"


def test_counts_stand_in_their_cells_and_zeros_do_not():
    table = pd.DataFrame([[5, 0], [1, 2]], index=["x", "y"], columns=["p", "q"])
    (ax,) = plot_correspondence(table, "given", "found").axes
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    assert cells == {(0, 0): "5", (0, 1): "1", (1, 1): "2"}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x (5)", "y (3)"]
