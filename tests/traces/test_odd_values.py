"""Values that pandas would convert without a word, and sizes that would overflow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iac_lib.traces.arrivals import OriginalDelays, OriginalTimes, schedule
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.schema import Blocks, Trace


def frame(**columns) -> pd.DataFrame:
    usual = {
        "request_id": [0, 1],
        "conversation_id": ["a", "b"],
        "turn": 1,
        "arrival_s": [0.0, 10.0],
        "input_tokens": [5, 6],
        "output_tokens": [1, 1],
    }
    return pd.DataFrame(usual | columns)


DAYS = pd.to_datetime(["2026-01-01", "2026-01-02"])
DATES = [DAYS, DAYS.tz_localize("UTC"), DAYS - DAYS[0], list(DAYS.to_pydatetime())]


@pytest.mark.parametrize("times", DATES, ids=["naive", "zoned", "difference", "objects"])
def test_dates_are_not_read_as_nanoseconds(times):
    with pytest.raises(TraceError, match=r"arrival_s.*holds dates.*total_seconds"):
        Trace("t", frame(arrival_s=times))
    turns = pd.DataFrame(
        {
            "conversation_id": ["a", "a"],
            "turn": [1, 2],
            "user_tokens": 1,
            "output_tokens": 1,
            "start_s": times,
        }
    )
    with pytest.raises(TraceError, match=r"start_s.*holds dates"):
        schedule(Conversations("c", turns), OriginalTimes(), OriginalDelays())


def test_unix_milliseconds_are_no_seconds():
    with pytest.raises(TraceError, match=r"row 0: arrival_s = 17\d+.*not milliseconds"):
        Trace("t", frame(arrival_s=[1.7e12, 1.7e12 + 5]))


@pytest.mark.parametrize("column", ["input_tokens", "output_tokens"])
def test_more_tokens_than_any_context_are_refused(column):
    with pytest.raises(TraceError, match=rf"row 1: {column}.*at most"):
        Trace("t", frame(**{column: [5, 2**41]}))


@pytest.mark.parametrize("tokens", [[1.5, 2], ["x", 2], [np.nan, 2]])
def test_conversations_have_whole_tokens(tokens):
    turns = {"conversation_id": ["a", "b"], "turn": 1, "output_tokens": 1, "user_tokens": tokens}
    with pytest.raises(TraceError, match=r"row 0: user_tokens.*whole number"):
        Conversations("c", pd.DataFrame(turns))


def test_missing_token_counts_name_the_function_that_counts():
    with pytest.raises(TraceError, match="count_tokens"):
        Conversations("c", pd.DataFrame({"conversation_id": ["a"], "turn": [1], "text": ["hi"]}))


def test_fractional_block_ids_do_not_merge():
    blocks = Blocks(np.array([1.2, 1.7]), np.array([5, 6], np.int32), np.array([0, 1, 2]))
    with pytest.raises(TraceError, match="whole numbers"):
        Trace("t", frame(), blocks)


def test_forty_thousand_intents_keep_their_codes():
    n = 40_000
    many = pd.DataFrame(
        {
            "request_id": range(n),
            "conversation_id": range(n),
            "turn": 1,
            "arrival_s": np.arange(float(n)),
            "input_tokens": 1,
            "output_tokens": 0,
            "intent": pd.Categorical.from_codes(range(n), categories=[str(i) for i in range(n)]),
        }
    )
    assert (Trace("t", many).column("intent") == np.arange(n)).all()
