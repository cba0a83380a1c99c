from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from iac_lib.intents.classifier import Head, name_shapes
from iac_lib.intents.classify import IntentClassifier
from iac_lib.intents.weights import WeightsError
from iac_lib.traces.conversations import Conversations
from tests.intents.embeddings import LetterEmbedder

# "[turn 1] " adds the letters t, u, r, n to every query.
MARK = np.bincount([ord(c) - 97 for c in "turn"], minlength=26)
INTENTS = ("one", "two", "three")


def make_head(embedder: str = "letters") -> Head:
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.normal(size=shape, scale=0.3).astype(np.float32)
        for name, shape in name_shapes(26, len(INTENTS)).items()
    }
    return Head(arrays, INTENTS, embedder)


@pytest.fixture
def classifier() -> IntentClassifier:
    return IntentClassifier(LetterEmbedder(), make_head())


def count_letters(*queries: str) -> np.ndarray:
    """Return the request's embedding by hand: letters of all its queries, length 1."""
    counts = np.bincount([ord(c) - 97 for c in "".join(queries)], minlength=26)
    counts = counts + len(queries) * MARK
    return (counts / np.linalg.norm(counts)).astype(np.float32)


def test_the_last_four_queries_count_by_their_tokens(classifier):
    queries = ["zzzz", "a", "bb", "cccccc", "d"]
    codes, probabilities = classifier.predict([queries, queries[:1]], [5, 1])
    expected = [count_letters(*queries[1:]), count_letters("zzzz")]
    np.testing.assert_allclose(
        probabilities, classifier.head.probabilities(np.array(expected)), atol=1e-5
    )
    assert codes.dtype == np.int64
    assert codes.tolist() == probabilities.argmax(axis=1).tolist()


def test_queries_are_marked_with_their_turns_and_embedded_once(classifier):
    classifier.predict([["a"], ["a", "b"], ["x", "a", "b"]], [1, 2, 7])
    assert classifier.embedder.asked == [
        ["[turn 1] a", "[turn 2] b", "[turn 5] x", "[turn 6] a", "[turn 7] b"]
    ]


def test_one_at_a_time_is_the_same_and_remembers(classifier):
    queries = ["how", "why", "when", "where", "who", "what"]
    requests = [queries[: t + 1] for t in range(6)]
    codes, probabilities = classifier.predict(requests, range(1, 7))
    classifier.embedder.asked.clear()
    for turn, request in enumerate(requests, 1):
        code, one = classifier.predict_one(request, turn)
        assert code == codes[turn - 1]
        np.testing.assert_allclose(one, probabilities[turn - 1], atol=1e-5)
    assert [len(texts) for texts in classifier.embedder.asked] == [1] * 6


def test_no_requests_give_empty_answers(classifier):
    codes, probabilities = classifier.predict([], [])
    assert (codes.shape, probabilities.shape) == ((0,), (0, 3))


def test_many_requests_are_computed_in_pieces():
    head = make_head()
    x = np.random.default_rng(0).normal(size=(9000, 26)).astype(np.float32)
    np.testing.assert_allclose(head.logits(x), head.forward(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("queries", "turn"), [([], 1), (["a", "b"], 1), (["a"], 0)])
def test_queries_that_do_not_fit_the_turn_are_refused(classifier, queries, turn):
    with pytest.raises(ValueError, match=f"turn {turn} cannot have"):
        classifier.predict([queries], [turn])
    with pytest.raises(ValueError, match=f"turn {turn} cannot have"):
        classifier.predict_one(queries, turn)


def test_a_head_of_another_embedder_is_refused():
    with pytest.raises(WeightsError, match=r"trained on e5 .* not on letters"):
        IntentClassifier(LetterEmbedder(), make_head("e5"))


@pytest.mark.parametrize(
    ("queries", "turn", "problem"),
    [
        ("hello", 1, "list of texts"),
        ([None], 1, "list of texts"),
        (["a"], 1.5, "whole number"),
        (["a"], float("nan"), "whole number"),
        (["a"], float("inf"), "whole number"),
    ],
)
def test_what_is_no_request_is_refused(classifier, queries, turn, problem):
    with pytest.raises(ValueError, match=problem):
        classifier.predict_one(queries, turn)
    with pytest.raises(ValueError, match=problem):
        classifier.predict([queries], [turn])


def test_every_request_needs_a_turn(classifier):
    with pytest.raises(ValueError, match="2 requests and 1 turns"):
        classifier.predict([["a"], ["b"]], [1])


def test_labelling_conversations_is_predicting_every_request(classifier, monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    texts = [["one", "two", "three", "four", "five", "six"], ["alone"]]
    rows = [
        (f"c{c}", t, 3, 3, text) for c, said in enumerate(texts) for t, text in enumerate(said, 1)
    ]
    columns = ["conversation_id", "turn", "user_tokens", "output_tokens", "user_text"]
    chats = Conversations("mine", pd.DataFrame(rows, columns=columns))
    labelled = classifier.label(chats)
    queries = [said[:t] for said in texts for t in range(1, len(said) + 1)]
    codes, _ = classifier.predict(queries, chats.turns["turn"].tolist())
    assert labelled.turns["intent"].cat.codes.tolist() == codes.tolist()
    assert tuple(labelled.turns["intent"].cat.categories) == INTENTS
    with pytest.raises(ValueError, match="mine has no user_text"):
        classifier.label(replace(chats, turns=chats.turns.drop(columns="user_text")))


def test_without_a_trained_head_it_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    with pytest.raises(WeightsError, match="make intents"):
        IntentClassifier.load()
