from __future__ import annotations

import json

import numpy as np
import pytest

from iac_lib.traces.data import RAGPULSE_FILES
from iac_lib.traces.errors import TraceError
from iac_lib.traces.ragpulse import UNNAMED_ROWS, UNNAMED_TOKENS, WRAPPED, load_ragpulse

KINDS = ("sys_prompt", "passages_ids", "history", "web_search", "user_input")


@pytest.fixture
def write(tmp_path):
    """Write the six files; chunk 10 k + i has k + 1 tokens, rows are (time, session, ids)."""

    def write(*rows):
        fields = ("sys_prompt_id", "passage_id", "history_id", "user_input_id", "web_search_id")
        for k, (file, field) in enumerate(zip(RAGPULSE_FILES[1:], fields, strict=True)):
            lines = [json.dumps({field: 10 * k + i, "token_length": k + 1}) for i in range(3)]
            (tmp_path / file).write_text("\n".join(lines) + "\n")
        lines = [
            json.dumps(
                {
                    "timestamp": time,
                    "input_length": 30,
                    "output_length": 2,
                    "hash_ids": dict(zip(KINDS, ids, strict=True)),
                    "session_id": session,
                }
            )
            for time, session, ids in rows
        ]
        (tmp_path / RAGPULSE_FILES[0]).write_text("\n\n".join(lines) + "\n")
        return tmp_path

    return write


RAG = ([0, 1], [10], [20], [], [30])
WEB = ([0], [11], [], [40], [31])
PLAIN = ([2], [], [], [], [32])


def test_chunks_in_order_types_and_turns(write):
    trace = load_ragpulse(write(("3", "s", RAG), ("4", "u", WEB), ("9", "s", PLAIN)))
    assert trace.requests["request_type"].tolist() == ["rag", "web", "plain"]
    assert trace.column("turn").tolist() == [1, 1, 2]
    assert trace.column("arrival_s").tolist() == [3, 4, 9]
    assert trace.blocks.ids.tolist() == [0, 1, 10, 20, 30, 0, 11, 40, 31, 2, 32]
    assert trace.column("input_tokens").tolist() == [11, 12, 5]
    assert trace.notes == {UNNAMED_ROWS: 3, UNNAMED_TOKENS: 90 - 28}


def test_the_clock_starts_again_after_a_week(write):
    trace = load_ragpulse(write(("604000", "s", RAG), ("10", "s", RAG), ("20", "s", RAG)))
    assert trace.column("arrival_s").tolist() == [604_000, 604_810, 604_820]
    assert trace.notes[WRAPPED] == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (("2", "s", RAG), r"0_trace\.jsonl: row 3: timestamp = '2': is earlier"),
        (("soon", "s", RAG), r"row 3: timestamp = 'soon': must be a number"),
        (("nan", "s", RAG), r"row 3: timestamp = nan: must be a finite number"),
        ((7.5, "s", RAG), r"row 3: timestamp = 7.5: must be of type str"),
        (("7", "s", ([99], *RAG[1:])), r"row 3: hash_ids = 99: is in none of the files"),
        (("7", None, RAG), r"row 3: session_id = None: must be of type str"),
    ],
)
def test_bad_rows(write, row, says):
    with pytest.raises(TraceError, match=says):
        load_ragpulse(write(("3", "s", RAG), row))


def test_a_repeated_chunk(write):
    folder = write(("3", "s", RAG))
    with (folder / RAGPULSE_FILES[2]).open("a") as file:
        file.write('{"passage_id": 0, "token_length": 4}\n')
    with pytest.raises(TraceError, match=r"2_passages\.jsonl: row 4: passage_id = 0: appears"):
        load_ragpulse(folder)


def test_published_trace(real):
    trace = load_ragpulse(real("ragpulse/0_trace.jsonl").parent)
    sizes = trace.requests.groupby("conversation_id").size()
    assert (len(trace), len(sizes)) == (7106, 3990)
    assert (sizes > 1).mean() == pytest.approx(0.41, abs=0.005)
    kinds = trace.requests["request_type"].value_counts()
    assert kinds.to_dict() == {"rag": 5402, "plain": 1448, "web": 256}
    assert trace.notes == {UNNAMED_ROWS: 7106, UNNAMED_TOKENS: 65_650, WRAPPED: 1}
    # Session ids start with a Unix time in ms: first turns stay close to it over both weeks.
    first = trace.requests[trace.column("turn") == 1]
    unix = first["conversation_id"].str.split("-").str[0]
    known = unix.str.fullmatch(r"\d{13}").to_numpy()
    late = first["arrival_s"][known] - unix[known].astype(float) / 1000
    assert (np.abs(late - late.median()) < 1800).mean() > 0.99
