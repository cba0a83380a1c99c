"""Frequencies, agreement and correspondence of labels, against counts made by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import binomtest

from iac_lib.intents.agreement import score_agreement
from iac_lib.intents.correspondence import NO_CLASS, chance_purity, cross_tabulate, purity
from iac_lib.intents.frequencies import count_intents, cover_requests
from iac_lib.intents.taxonomy import load_taxonomy

INTENTS = list(load_taxonomy(30).names)


def labels(*names: str) -> pd.Series:
    return pd.Series(pd.Categorical(names, categories=INTENTS))


def test_shares_have_wilsons_interval_and_intents_that_never_occur():
    counts = count_intents(labels(*["chitchat"] * 3, "translation")).set_index("intent")
    assert counts.index[:2].tolist() == ["chitchat", "translation"] and len(counts) == 30
    assert counts.loc["chitchat", ["requests", "share"]].tolist() == [3, 0.75]
    for name, seen in (("chitchat", 3), ("legal_info", 0)):
        expected = binomtest(seen, 4).proportion_ci(method="wilson")
        assert counts.loc[name, ["low", "high"]].tolist() == pytest.approx(list(expected), abs=1e-4)


def test_the_most_frequent_intents_cover_the_most():
    covered = cover_requests(count_intents(labels(*["chitchat"] * 3, "translation")))
    assert covered["intents"].tolist() == list(range(31))
    assert covered["covered"].tolist() == pytest.approx([0, 0.75] + [1] * 29)


def test_readers_who_differ_within_a_group_agree_once_it_is_merged():
    first = labels("code_generation", "chitchat", "translation", "legal_info")
    second = labels("code_debugging", "chitchat", "translation", "summarization")
    scores = score_agreement(first, second).set_index("classes")
    assert scores["agreed"].to_dict() == {30: 0.5, 20: 0.75, 10: 0.75}
    # At thirty, chance agrees on two of sixteen pairs.
    assert scores.loc[30, "kappa"] == pytest.approx((0.5 - 2 / 16) / (1 - 2 / 16))
    assert (scores["kappa_low"] <= scores["kappa"]).all()
    assert (scores["kappa"] <= scores["kappa_high"]).all()


@pytest.fixture
def sorted_twice():
    found = pd.Series(["p", "p", "q", "q", None, "r"])
    return found, pd.Series(["x", "x", "x", "y", "y", "z"], index=range(10, 16))


def test_pairs_are_counted_by_position(sorted_twice):
    table = cross_tabulate(*sorted_twice)
    assert table.index.tolist() == ["x", "y", "z"]
    assert table.columns.tolist()[0] == "p"
    assert table.loc["x", "p"] == 2 and table.loc["y", NO_CLASS] == 1
    assert table.to_numpy().sum() == 6


def test_purity_is_the_share_in_the_largest_cells(sorted_twice):
    table = cross_tabulate(*sorted_twice)
    assert purity(table) == pytest.approx(5 / 6)
    assert purity(table.T) == pytest.approx(4 / 6)


def test_chance_is_pure_where_classes_are_single_requests():
    given = pd.Series(list("xxyyzz"))
    assert chance_purity(pd.Series(list("abcdef")), given) == 1
    alone = chance_purity(pd.Series(list("aaaaaa")), given)
    assert alone == pytest.approx(1 / 3)
    halves = chance_purity(pd.Series(list("aaabbb")), given)
    assert 1 / 3 < halves < 1
