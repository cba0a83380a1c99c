import pytest

from iac_lib.reuse.statistics import fit_statistics
from iac_lib.reuse.tables import tabulate_statistics
from iac_lib.traces.handmade import make_history


def test_one_row_for_every_state_that_was_reached():
    history = make_history()
    statistics = fit_statistics(history)
    table = tabulate_statistics(statistics, history.intents).set_index(["intent", "turn"])
    assert len(table) == (statistics.reached > 0).sum()
    row = table.loc[("summarization", 1)]
    assert (row["reached"], row["continued"], row["reuse"]) == (20, 5, 0.25)
    assert row["median_s"] == pytest.approx(60.0)
    assert row["mode_s"] < row["median_s"] < row["mean_s"]


def test_unknown_intent_is_called_so():
    history = make_history()
    table = tabulate_statistics(fit_statistics(history).without_intent(), history.intents)
    assert "unknown" in set(table["intent"])
