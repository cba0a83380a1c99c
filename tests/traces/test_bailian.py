from __future__ import annotations

import json
import logging

import numpy as np
import pandas as pd
import pytest

from iac_lib.traces.bailian import ORPHAN, RENUMBERED, read_bailian, write_bailian
from iac_lib.traces.errors import TraceError
from iac_lib.traces.schema import Trace


def write_lines(path, rows):
    """Rows are (chat, parent, time, turn)."""
    lines = [
        json.dumps(
            {
                "chat_id": chat,
                "parent_chat_id": parent,
                "timestamp": time,
                "input_length": 20,
                "output_length": 3,
                "type": "text",
                "turn": turn,
                "hash_ids": [1, chat],
            }
        )
        for chat, parent, time, turn in rows
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_round_trip(paged, tmp_path, assert_same):
    linked = paged.assign(
        request_id=[7, 3, 5, 9],
        conversation_id=[7, 3, 7, 7],
        turn=[1, 1, 2, 3],
        request_type=["text", "file", None, "text"],
    )
    write_bailian(linked, tmp_path / "t.jsonl", block_size=8)
    assert_same(read_bailian(tmp_path / "t.jsonl", block_size=8, name="paged"), linked)


def test_conversations_come_back(talk, tmp_path):
    write_bailian(talk, tmp_path / "t.jsonl", block_size=8)
    back = read_bailian(tmp_path / "t.jsonl", block_size=8)
    for column in ("turn", "arrival_s", "input_tokens", "output_tokens"):
        assert back.column(column).tolist() == talk.column(column).tolist()
    assert back.conversation_codes.tolist() == talk.conversation_codes.tolist()
    assert back.requests["request_type"].isna().tolist() == [False, False, False, True, False]


def test_text_ids_become_rows(talk, tmp_path):
    write_bailian(talk.assign(request_id=list("vwxyz")), tmp_path / "t.jsonl")
    assert read_bailian(tmp_path / "t.jsonl").column("request_id").tolist() == [0, 1, 2, 3, 4]


def test_missing_parents_and_siblings(tmp_path, caplog):
    rows = [(10, 4, 0.0, 5), (11, 10, 1.0, 6), (12, -1, 2.0, 1), (13, 10, 3.0, 6), (14, 14, 4.0, 1)]
    with caplog.at_level(logging.WARNING):
        trace = read_bailian(write_lines(tmp_path / "t.jsonl", rows))
    assert trace.column("conversation_id").tolist() == [10, 10, 12, 10, 14]
    assert trace.column("turn").tolist() == [1, 2, 1, 3, 1]
    assert trace.notes == {ORPHAN: 2, RENUMBERED: 3}
    assert "2 requests: parent is not earlier" in caplog.text


def test_milliseconds_are_noticed_unless_vouched_for(tmp_path):
    rows = [(i, -1, i * 250, 1) for i in range(30)]
    path = write_lines(tmp_path / "t.jsonl", rows)
    with pytest.raises(TraceError, match=r"row 30: timestamp = 7250.*in milliseconds; pass unit="):
        read_bailian(path)
    assert read_bailian(path, unit="ms").column("arrival_s")[1] == 0.25
    assert read_bailian(path, unit="s").column("arrival_s")[1] == 250


def test_rare_whole_seconds_that_we_wrote_are_read_back(paged, tmp_path, assert_same):
    requests = pd.concat([paged.requests.iloc[:1]] * 30, ignore_index=True)
    requests = requests.assign(
        request_id=range(30), conversation_id=range(30), arrival_s=np.arange(30) * 3600.0
    )
    rare = Trace("rare", requests, paged.blocks.select(np.zeros(30, np.int64)))
    write_bailian(rare, tmp_path / "t.jsonl", block_size=8)
    back = read_bailian(tmp_path / "t.jsonl", block_size=8, name="rare")
    assert back.column("arrival_s").tolist() == rare.column("arrival_s").tolist()


def test_a_chat_that_appears_twice_is_refused(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", [(1, -1, 0.0, 1), (1, -1, 1.0, 1)])
    with pytest.raises(TraceError, match=r"t\.jsonl: row 2: chat_id = 1: appears twice"):
        read_bailian(path)
