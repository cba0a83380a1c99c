from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iac_lib.traces.arrivals import ConstantDelays, Poisson, schedule
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.describe import (
    behaviour_by_hour,
    context_by_turn,
    continuation_by_turn,
    summarise_turns,
    turn_table,
    turns_by_intent,
)
from iac_lib.traces.schema import Blocks, Trace
from iac_lib.traces.sharing import input_shares, own_prefix_tokens


@pytest.fixture
def conversations():
    """Two conversations: three turns of code, one of chat, which starts an hour later."""
    turns = pd.DataFrame(
        {
            "conversation_id": ["a", "a", "a", "b"],
            "turn": [1, 2, 3, 1],
            "user_tokens": [10, 20, 30, 5],
            "output_tokens": [100, 200, 300, 5],
            "start_s": [0.0, 50.0, 250.0, 3600.0],
            "intent": ["chat", "code", "code", "chat"],
        }
    )
    return Conversations("synthetic small", turns)


@pytest.fixture
def blocks():
    """Conversation a asks twice; b shares the first block with it."""
    requests = pd.DataFrame(
        {
            "request_id": [0, 1, 2],
            "conversation_id": ["a", "b", "a"],
            "turn": [1, 1, 2],
            "arrival_s": [0.0, 1.0, 2.0],
            "input_tokens": [20, 25, 35],
            "output_tokens": [1, 1, 1],
        }
    )
    ids, tokens = [1, 2, 1, 3, 1, 2, 4], [10, 10, 10, 15, 10, 10, 15]
    starts = np.array([0, 2, 4, 7])
    return Trace("blocks", requests, Blocks(np.array(ids), np.array(tokens, np.int32), starts))


def test_turn_table_of_conversations(conversations):
    table = turn_table(conversations)
    assert table["conversation"].tolist() == [0, 0, 0, 1]
    assert table["input_tokens"].tolist() == [10, 130, 360, 5]
    assert table["continues"].tolist() == [True, True, False, False]
    np.testing.assert_array_equal(table["delay_s"], [50, 200, np.nan, np.nan])


def test_a_scheduled_trace_has_the_same_turns(conversations):
    table = turn_table(conversations)
    scheduled = turn_table(schedule(conversations, Poisson(1.0), ConstantDelays(7.0)))
    same = ["conversation", "turn", "input_tokens", "output_tokens", "continues"]
    pd.testing.assert_frame_equal(table[same], scheduled[same], check_dtype=False)
    assert scheduled["delay_s"].dropna().to_numpy() == pytest.approx([7, 7])


def test_conversations_without_times_have_no_delays(conversations):
    timeless = Conversations("timeless", conversations.turns.drop(columns="start_s"))
    table = turn_table(timeless)
    assert table["delay_s"].isna().all() and not summarise_turns(table)["timestamps"]


def test_summary(conversations):
    summary = summarise_turns(turn_table(conversations))
    assert (summary["conversations"], summary["requests"], summary["turns"]) == (2, 4, 2)
    assert summary["multi_turn"] == 0.5
    assert summary["tokens_per_conversation"] == (660 + 10) / 2
    assert summary["tokens_per_turn"] == 670 / 4


def test_context_and_continuation_by_turn(conversations):
    table = turn_table(conversations)
    context = context_by_turn(table, (1, 2)).set_index("turn")
    assert context["mean"].tolist() == [7.5, 130] and context["requests"].tolist() == [2, 1]
    follow = continuation_by_turn(table, max_turn=3, least=1).set_index("turn")
    assert follow["continuation"].tolist() == [0.5, 1, 0]
    assert (follow["low"] <= follow["continuation"]).all()
    assert (follow["continuation"] <= follow["high"] + 1e-12).all()
    assert continuation_by_turn(table, least=2)["turn"].tolist() == [1]


def test_a_conversation_takes_its_last_intent(conversations):
    turns = turns_by_intent(turn_table(conversations)).set_index("intent")["turns"]
    assert turns.to_dict() == {"code": 3, "chat": 1}


def test_behaviour_by_hour_of_the_start(conversations):
    table = turn_table(conversations)
    hours = behaviour_by_hour(table, least=1).set_index(["intent", "hour"])
    assert hours["turns"].to_dict() == {("chat", 1): 1, ("code", 0): 3}
    assert hours.loc[("code", 0), "median_delay_s"] == 125
    rare = behaviour_by_hour(table, least=2).set_index(["intent", "hour"])
    assert rare["turns"].isna().all() and rare["median_delay_s"].notna().sum() == 1


def test_what_a_cache_without_limit_would_hit(conversations, blocks):
    shares = input_shares(conversations)
    assert shares["own"] == (110 + 330) / (10 + 130 + 360 + 5) and shares["others"] == 0
    assert own_prefix_tokens(blocks.blocks, blocks.previous).tolist() == [0, 0, 20]
    shares = input_shares(blocks)
    assert shares.to_numpy() == pytest.approx([20 / 80, 10 / 80, 50 / 80])
