from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from iac_lib.intents.gold import load_gold
from iac_lib.intents.queries import mark_queries
from iac_lib.learn.labelled import INTENTS, embed_requests, find_labelled
from iac_lib.traces.sharegpt import load_sharegpt


class Counting:
    """An embedder without a model: a vector that depends on the text alone."""

    name, key, dimension = "counting", "counting-1", 6

    def __init__(self):
        self.asked = 0

    def embed(self, texts):
        self.asked += len(texts)
        vectors = [np.random.default_rng(list(text.encode())).normal(size=6) for text in texts]
        return np.float32(vectors), np.int32([len(text) for text in texts])


@pytest.fixture(scope="module")
def sharegpt():
    return load_sharegpt()


@pytest.fixture(scope="module")
def labelled(sharegpt):
    return find_labelled(sharegpt)


def test_labels_are_found_at_their_requests(sharegpt, labelled):
    keys = ["conversation_id", "turn"]
    there = sharegpt.turns.iloc[labelled.gold["row"]][keys].reset_index(drop=True)
    assert there.astype(str).equals(load_gold()[keys].astype(str))
    assert (sharegpt.codes[labelled.training["row"]] == labelled.training["conversation"]).all()
    assert labelled.training["code"].between(0, len(INTENTS) - 1).all()


def test_heads_never_learn_from_test_or_replayed_conversations(sharegpt, labelled):
    learned = set(labelled.training["conversation"])
    assert max(learned) < len(sharegpt) // 2
    test = labelled.gold[labelled.gold["part"] == "test"]
    assert not learned & set(test["conversation"])


def test_missing_conversations_are_refused(sharegpt):
    early = sharegpt.take(0, 100)
    with pytest.raises(LookupError, match="labels are of requests that are not there"):
        find_labelled(early)


def test_embedding_chosen_requests_is_embedding_their_windows(sharegpt, monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    few = replace(sharegpt, turns=sharegpt.turns.head(300))
    rows = np.random.default_rng(0).choice(300, 40, replace=False)
    embedder = Counting()
    found = embed_requests(embedder, few, rows)
    assert embedder.asked < 300
    for row, vector in zip(rows, found, strict=True):
        turn = few.turns["turn"].iloc[row]
        window = few.turns.iloc[row - min(turn, 4) + 1 : row + 1]
        means, tokens = Counting().embed(mark_queries(window["user_text"], window["turn"]))
        mean = (means * tokens[:, None]).sum(axis=0)
        assert np.allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


def test_rows_may_be_asked_for_in_any_order_and_twice(sharegpt, monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    few = replace(sharegpt, turns=sharegpt.turns.head(50))
    forward = embed_requests(Counting(), few, np.array([3, 20, 7]))
    again = embed_requests(Counting(), few, np.array([7, 20, 3, 3]))
    assert np.allclose(again, forward[[2, 1, 0, 0]])


def test_predictions_are_read_as_they_were_written(tmp_path, sharegpt):
    from iac_lib.intents.predicted import find_rows, read_probabilities
    from iac_lib.learn.__main__ import write_predictions

    few = replace(sharegpt, turns=sharegpt.turns.head(20))
    probabilities = np.random.default_rng(0).dirichlet(np.ones(30) / 5, 20).astype(np.float32)
    path = tmp_path / "p.parquet"
    write_predictions(path, few, probabilities, np.linspace(0, 1, 20))
    rows = find_rows(few.turns, path)
    assert (rows["intent"].to_numpy() == probabilities.argmax(axis=1)).all()
    assert np.allclose(read_probabilities(rows), probabilities, atol=0.03)
    assert np.allclose(rows["follow_up"].astype(float), np.linspace(0, 1, 20), atol=1e-3)
    assert set(pd.read_parquet(path)) == {
        "conversation_id", "turn", "intent", "probabilities", "follow_up",
    }  # fmt: skip
