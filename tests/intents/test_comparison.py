from __future__ import annotations

import numpy as np
import pytest

from iac_lib.intents.comparison import compare_models, compare_seeds, mix_tuned, score_classifier
from iac_lib.intents.gold import load_gold
from iac_lib.intents.opinions import load_opinions, write_opinions


def test_scores_survive_the_file(tmp_path):
    scores = {"a": np.random.default_rng(0).normal(size=(5, 30)).astype(np.float32)}
    scores["a"][2] = np.nan
    write_opinions(scores, tmp_path / "o.parquet")
    read = load_opinions(tmp_path / "o.parquet")["a"]
    assert np.allclose(read, scores["a"], atol=2e-3, equal_nan=True)


def test_every_model_spoke_on_the_whole_test_part():
    test = (load_gold()["part"] == "test").to_numpy()
    for name, scores in load_opinions().items():
        assert np.isfinite(scores[test]).all(), name


def test_the_table_agrees_with_plain_accuracy():
    gold = load_gold()
    test = (gold["part"] == "test").to_numpy()
    truth = gold["intent"].cat.codes.to_numpy()[test]
    plain = (load_opinions()["e5-small"][test].argmax(axis=1) == truth).mean()
    table = compare_models().set_index(["model", "classes"])
    assert table.loc[("e5-small + MLP", 30), "accuracy"] == pytest.approx(plain)
    assert score_classifier().set_index("classes").loc[30, "accuracy"] == pytest.approx(plain)
    assert (table["accuracy_low"] <= table["accuracy"]).all()
    assert len(compare_seeds()) == 2 * 5 * 3


def test_a_mixture_is_not_tuned_on_the_test_part():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 30, 400)
    test = np.arange(400) % 2 == 0
    good = np.eye(30)[codes] * 3.0
    noise = rng.normal(size=(400, 30))
    # In the test part the second opinion is perfect, outside it is noise.
    second = np.where(test[:, None], good, noise)
    mixed = mix_tuned(good, second, codes, test, (1.0,))
    helped = mix_tuned(good, second, codes, ~test, (1.0,))
    assert (mixed[test].argmax(axis=1) == codes[test]).all()
    assert not np.allclose(mixed, helped)


def test_rows_without_one_opinion_stay_unknown():
    codes = np.zeros(6, int)
    first = np.zeros((6, 30))
    second = first.copy()
    second[3] = np.nan
    mixed = mix_tuned(first, second, codes, np.array([True, False] * 3), (1.0,))
    assert np.isnan(mixed[3]).all() and np.isfinite(np.delete(mixed, 3, axis=0)).all()
