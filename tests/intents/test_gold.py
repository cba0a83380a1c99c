from __future__ import annotations

import pandas as pd
import pytest

from iac_lib.intents.contexts import choose_gold
from iac_lib.intents.evaluation import cohen_kappa, count_confusion
from iac_lib.intents.gold import count_confusions, load_gold, load_training, settle
from iac_lib.traces.sharegpt import load_sharegpt

KEYS = ["conversation_id", "turn"]


@pytest.fixture(scope="module")
def sharegpt():
    return load_sharegpt()


def test_the_gold_set_is_what_the_seed_chooses(sharegpt):
    chosen = choose_gold(sharegpt)
    gold = load_gold()
    assert gold[[*KEYS, "sample"]].astype(str).equals(chosen.astype(str))


def test_every_context_has_two_readings_and_a_label():
    gold = load_gold()
    assert gold[["reader_a", "reader_b", "intent"]].notna().all(axis=None)
    agreed = gold["reader_a"] == gold["reader_b"]
    assert (gold["intent"] == gold["reader_a"])[agreed].all()
    assert 0.8 < agreed.mean() < 1


def test_a_third_is_for_testing():
    assert load_gold()["part"].eq("test").mean() == pytest.approx(1 / 3, abs=0.001)


def test_nothing_that_is_learned_from_is_gold_or_replayed(sharegpt):
    training = load_training()
    assert not set(training["conversation_id"]) & set(load_gold()["conversation_id"])
    ids = sharegpt.turns["conversation_id"].unique()
    assert set(training["conversation_id"]) <= set(ids[: len(ids) // 2])
    assert training["intent"].notna().all() and not training.duplicated(KEYS).any()


def test_no_text_is_shipped():
    for table in (load_gold(), load_training()):
        assert set(table) <= {*KEYS, "sample", "reader_a", "reader_b", "intent", "part"}


def test_readers_agree_beyond_chance():
    gold = load_gold()
    codes = [gold[reader].cat.codes.to_numpy() for reader in ("reader_a", "reader_b")]
    assert cohen_kappa(count_confusion(*codes, 30)) > 0.8


def test_settling_takes_agreement_then_the_decision():
    labels, left = settle(pd.Series(["a", "b", "c"]), pd.Series(["a", "x", "y"]), {1: "x"})
    assert labels.tolist()[:2] == ["a", "x"] and left == [2]


def test_confusions_do_not_depend_on_who_read_first():
    first, second = pd.Series(["a", "b", "c", "c"]), pd.Series(["b", "a", "c", "a"])
    table = count_confusions(first, second)
    assert table.to_numpy().tolist() == [["a", "b", 2], ["a", "c", 1]]
    assert table.equals(count_confusions(second, first))
