from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_lib.intents.contexts import (
    CONTEXT_QUERIES,
    choose_gold,
    choose_training,
    cut_middle,
    show_context,
)
from iac_lib.traces.conversations import Conversations


@pytest.fixture(scope="module")
def conversations():
    rng = np.random.default_rng(5)
    lengths = rng.geometric(0.15, size=4000)
    turns = pd.DataFrame(
        {
            "conversation_id": np.repeat([f"c{i}" for i in range(len(lengths))], lengths),
            "turn": np.concatenate([np.arange(1, n + 1) for n in lengths]),
            "user_tokens": rng.lognormal(3, 1, lengths.sum()).astype(int) + 1,
            "output_tokens": 5,
        }
    )
    return Conversations("made up", turns)


def test_gold_is_balanced_over_turns_and_lengths_and_has_a_conversation_once(conversations):
    gold = choose_gold(conversations)
    assert gold["sample"].value_counts().to_dict() == {"stratified": 1000, "random": 300}
    assert gold["conversation_id"].is_unique
    stratified = gold[gold["sample"] == "stratified"]
    assert (stratified["turn"].value_counts() == 1000 // CONTEXT_QUERIES).all()
    lengths = stratified.merge(conversations.turns, on=["conversation_id", "turn"])["user_tokens"]
    whole = conversations.turns["user_tokens"]
    for share in (0.2, 0.4, 0.6, 0.8):
        assert (lengths <= whole.quantile(share)).mean() == pytest.approx(share, abs=0.08)


def test_the_random_part_has_the_turns_of_all_requests(conversations):
    gold = choose_gold(conversations)
    drawn = gold.loc[gold["sample"] == "random", "turn"]
    assert drawn.mean() == pytest.approx(conversations.turns["turn"].mean(), rel=0.25)
    assert drawn.max() > CONTEXT_QUERIES


def test_training_and_gold_share_no_conversation_and_training_is_history(conversations):
    gold = choose_gold(conversations)
    training = choose_training(conversations, gold, 10_000)
    assert not set(training["conversation_id"]) & set(gold["conversation_id"])
    assert training["conversation_id"].is_unique
    ids = conversations.turns["conversation_id"].unique()
    assert set(training["conversation_id"]) <= set(ids[: len(ids) // 2])


def test_the_choice_is_the_same_every_time(conversations):
    assert choose_gold(conversations).equals(choose_gold(conversations))


@given(st.text(min_size=1, max_size=60), st.integers(12, 40))
def test_a_cut_text_keeps_head_and_tail(text, limit):
    cut = cut_middle(text, limit)
    if len(text) <= limit:
        assert cut == text
    else:
        head, tail = cut.split(" [...] ", 1) if text.count(" [...] ") == 0 else (text, text)
        assert text.startswith(head) and text.endswith(tail)


def test_a_context_shows_the_turns_it_is_made_of():
    shown = show_context(["a\nb", "c", "d" * 900], last_turn=7)
    lines = shown.splitlines()
    assert [line.split("]")[0] for line in lines] == ["[turn 5", "[turn 6", "[turn 7"]
    assert lines[0].endswith("a b") and len(lines[2]) < 730
