"""Every malformed case in every format that can have it: named, and nothing written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iac_lib.traces.azure import load_azure
from iac_lib.traces.bailian import read_bailian
from iac_lib.traces.claude_code import load_claude_code
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import read_jsonl
from iac_lib.traces.mooncake import read_mooncake, write_mooncake
from iac_lib.traces.realhumaneval import load_realhumaneval
from iac_lib.traces.schema import Blocks, Trace
from iac_lib.traces.storage import read_trace, write_trace
from iac_lib.traces.tokenizers import Characters

MOONCAKE = [
    {"timestamp": 1000 * i, "input_length": 600, "output_length": 5, "hash_ids": [0, i]}
    for i in range(3)
]
BAILIAN = [
    {
        "chat_id": i,
        "parent_chat_id": i - 1,
        "timestamp": i + 0.5,
        "input_length": 20,
        "output_length": 5,
        "type": "text",
        "turn": i + 1,
        "hash_ids": [0, i],
    }
    for i in range(3)
]
LINES = {"mooncake": MOONCAKE, "bailian": BAILIAN}
READERS = {
    "mooncake": read_mooncake,
    "bailian": read_bailian,
    "claude-code": load_claude_code,
    "azure": load_azure,
    "realhumaneval": lambda path: load_realhumaneval(path, Characters()),
    "parquet": read_trace,
}
CSV = {
    "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n",
    "realhumaneval": (
        "request,response,programmer_id,timestamp,task_name\n"
        "\"[{'content': 'q', 'role': 'user'}]\",yes,1,0.0,t\n"
    ),
}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path / "cache"))


def dump(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def refuses(form: str, path: Path, *, row: int | None, column: str | None, value: object) -> str:
    """Assert that reading fails, names all of it and leaves nothing behind; return the words."""
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(TraceError) as caught:
        READERS[form](path)
    error, says = caught.value, str(caught.value)
    assert says.startswith(str(path))
    assert (error.row, error.column) == (row, column)
    assert error.value == value or error.value is value or value != value
    if row is not None:
        assert f"row {row}" in says
    if column is not None:
        assert f"{column} = {error.value!r}" in says
    assert sorted(path.parent.rglob("*")) == before
    return says


FIELD_CASES = [
    ("a negative time", "timestamp", -1, "at least 0"),
    ("an unsorted time", "timestamp", 0, "sort by time"),
    ("a time that is NaN", "timestamp", float("nan"), "finite"),
    ("an infinite time", "timestamp", float("inf"), "finite"),
    ("a time as text", "timestamp", "3", "must be of type int or float"),
    ("zero tokens", "input_length", 0, "at least 1"),
    ("tokens that are NaN", "input_length", float("nan"), "must be of type int"),
    ("a fraction of a token", "input_length", 1.5, "must be of type int"),
    ("true as a number", "output_length", True, "must be of type int"),
    ("a negative answer", "output_length", -1, "at least 0"),
    ("no list of blocks", "hash_ids", 7, "must be of type list"),
    ("a block id as text", "hash_ids", [1, "x"], "items must be int"),
    ("a block id that is null", "hash_ids", [1, None], "items must be int"),
    ("a huge block id", "hash_ids", [1, 2**64], "64 bits"),
    ("null", "output_length", None, "must be of type int"),
    ("a huge time", "timestamp", 10**400, "at most"),
    ("a huge answer", "output_length", 2**63, "at most"),
]


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("case", FIELD_CASES, ids=lambda case: case[0])
def test_bad_field(form, case, tmp_path):
    _, field, value, says = case
    path, rows = tmp_path / "t.jsonl", [dict(row) for row in LINES[form]]
    rows[1]["timestamp"] = rows[0]["timestamp"] + 1
    rows[2][field] = value
    path.write_text(dump(rows))
    shown = value[1] if isinstance(value, list) else value
    assert says in refuses(form, path, row=3, column=field, value=shown)


@pytest.mark.parametrize("form", LINES)
def test_missing_field(form, tmp_path):
    for field in LINES[form][0]:
        path, rows = tmp_path / "t.jsonl", [dict(row) for row in LINES[form]]
        del rows[1][field]
        path.write_text(dump(rows))
        says = refuses(form, path, row=2, column=field, value=None)
        assert f"field {field} is missing" in says


@pytest.mark.parametrize("form", LINES)
def test_too_few_blocks(form, tmp_path):
    path, rows = tmp_path / "t.jsonl", [dict(row) for row in LINES[form]]
    rows[2]["hash_ids"] = [4]
    path.write_text(dump(rows))
    says = refuses(form, path, row=3, column="number of hash_ids", value=1)
    assert "makes 2 blocks" in says


def test_text_that_is_none(tmp_path):
    """JSON can spell half a surrogate pair, which no column of text can hold."""
    path = tmp_path / "t.jsonl"
    path.write_text(dump([{**BAILIAN[0], "type": "\ud800"}]))
    assert "surrogate" in refuses("bailian", path, row=1, column="type", value="\ud800")


@pytest.mark.parametrize("wrong", [-1, 2**41, 2**63 - 1])
def test_a_block_id_that_would_meet_another_sessions(wrong, tmp_path):
    request = {"t": 0, "type": "n", "in": 70, "out": 1, "hash_ids": [wrong], "input_types": []}
    path = tmp_path / "t.jsonl"
    path.write_text(dump([{"id": "a", "block_size": 64, "requests": [request]}]))
    says = refuses("claude-code", path, row=1, column="hash_ids", value=wrong)
    assert "must be from 0" in says


def test_repeated_chat(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(dump([*BAILIAN, {**BAILIAN[2], "timestamp": 9.5}]))
    assert "unique" in refuses("bailian", path, row=4, column="chat_id", value=2)


@pytest.mark.parametrize("form", ["mooncake", "bailian", "claude-code"])
@pytest.mark.parametrize(
    ("content", "row", "column", "says"),
    [
        (b"", None, None, "is empty"),
        (b"\n \n", None, None, "is empty"),
        (b'\n{"timestamp": 5, "inp', 2, "line", "the file seems cut here"),
        (b'{"timestamp"}\n', 1, "line", "is not valid JSON"),
        (b"[1, 2]\n", 1, "line", "is not a JSON object"),
        (b"\xff\xfe{}\n", 1, "line", "is not UTF-8 at byte 0"),
        (b'{"a": "caf\xe9"}\n', 1, "line", "is not UTF-8 at byte 10"),
        (b"\x00\x01\x02", 1, "line", "is not valid JSON"),
        (b"[" * 100_000 + b"\n", 1, "line", "is not valid JSON"),
        (b'{"timestamp": ' + b"1" * 5000 + b"}\n", 1, "line", "is not valid JSON"),
    ],
)
def test_broken_json_lines(form, content, row, column, says, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    assert says in refuses(form, path, row=row, column=column, value=float("nan"))


@pytest.mark.parametrize("form", ["mooncake", "bailian", "claude-code"])
def test_broken_gzip(form, tmp_path):
    path = tmp_path / "t.jsonl.gz"
    whole = gzip.compress(dump(LINES.get(form, MOONCAKE)).encode())
    for content in (whole[: len(whole) // 2], whole[:-4], b"no gzip at all"):
        path.write_bytes(content)
        with pytest.raises(TraceError, match=r"t\.jsonl\.gz: row \d"):
            READERS[form](path)
    path.write_bytes(gzip.compress(b""))
    assert "is empty" in refuses(form, path, row=None, column=None, value=None)


def test_a_line_beyond_the_bound(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n{"a": "' + "x" * 100 + '"}\n')
    with pytest.raises(TraceError, match=r"row 2: line is longer than 64 bytes"):
        list(read_jsonl(path, longest_line=64))


@pytest.mark.parametrize("form", CSV)
def test_broken_csv(form, tmp_path):
    path, whole = tmp_path / "t.csv", CSV[form]
    header, line = whole.splitlines()

    def says(content: bytes, row: int | None, column: str | None = None) -> str:
        path.write_bytes(content)
        return refuses(form, path, row=row, column=column, value=float("nan"))

    assert "is empty" in says(b"", None)
    assert "no rows" in says(f"{header}\n".encode(), None)
    assert "may be cut" in says(f"{whole}{line.rpartition(',')[0]}".encode(), 3, "fields")
    assert "fields, not" in says(f"{whole}{line},1\n".encode(), 3, "fields")
    assert "cut here" in says(f'{whole}"never closed'.encode(), 3)
    assert "is not UTF-8" in says(whole.encode() + b"caf\xe9,1,1\n", 1, "line")
    first = header.split(",")[0]
    missing = "\n".join(text.partition(",")[2] for text in (header, line))
    assert f"column {first} is missing" in says(missing.encode(), 1, first)


def test_broken_parquet(talk, tmp_path):
    path = tmp_path / "t.parquet"
    write_trace(talk, path)
    whole = path.read_bytes()
    for content in (b"", whole[:-10], whole[: len(whole) // 2], b"PAR1", b"x" * 500):
        path.write_bytes(content)
        assert "no whole Parquet" in refuses("parquet", path, row=None, column=None, value=None)
    flipped = bytearray(whole)
    flipped[4:40] = b"\xff" * 36
    path.write_bytes(flipped)
    assert "no whole Parquet" in refuses("parquet", path, row=None, column=None, value=None)


def test_damage_inside_a_parquet_file_is_never_read_as_other_values(paged, tmp_path):
    path = tmp_path / "t.parquet"
    write_trace(paged, path)
    whole = path.read_bytes()
    for place in range(4, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            trace = read_trace(path)
        except TraceError as error:
            assert str(error).startswith(str(path))
            continue
        pd.testing.assert_frame_equal(trace.requests, paged.requests)
        np.testing.assert_array_equal(trace.blocks.ids, paged.blocks.ids)
        np.testing.assert_array_equal(trace.blocks.tokens, paged.blocks.tokens)


@pytest.mark.parametrize("about", [b"\xff", b"{", b"[]", b'{"version": 1}'])
def test_parquet_with_a_foreign_description(about, paged, tmp_path):
    path = tmp_path / "t.parquet"
    write_trace(paged, path)
    table = pq.read_table(path).replace_schema_metadata({b"iac-trace": about})
    pq.write_table(table, path)
    with pytest.raises(TraceError, match=r"t\.parquet: .*write it"):
        read_trace(path)


TABLE_CASES = [
    ("unsorted", {"arrival_s": [0, 1, 2, 1.5, 5]}, 3, "arrival_s", 1.5),
    ("negative", {"arrival_s": [-1, 1, 2, 4, 5]}, 0, "arrival_s", -1.0),
    ("NaN", {"arrival_s": [0, 1, np.nan, 4, 5]}, 2, "arrival_s", np.nan),
    ("zero tokens", {"input_tokens": [10, 0, 30, 45, 20]}, 1, "input_tokens", 0),
    ("duplicate id", {"request_id": [0, 1, 2, 3, 1]}, 4, "request_id", 1),
    ("a turn skips", {"turn": [1, 1, 2, 4, 2]}, 3, "turn", 4),
    ("a turn that would wrap", {"turn": [1, 1, 2**32 + 2, 3, 2]}, 2, "turn", 2**32 + 2),
    ("tokens that would wrap", {"output_tokens": [6, 2**63, 2, 1, 4]}, 1, "output_tokens", 2**63),
    ("short of history", {"input_tokens": [10, 9, 30, 32, 20]}, 3, "input_tokens", 32),
    ("wrong type", {"output_tokens": [6, "many", 2, 1, 4]}, 1, "output_tokens", "many"),
]


@pytest.mark.parametrize("case", TABLE_CASES, ids=lambda case: case[0])
def test_a_stored_table_is_checked_when_it_is_read(case, talk, tmp_path):
    """The same checks hold for a table in memory and for one that somebody else altered."""
    _, change, row, column, value = case
    requests = talk.requests.assign(**change)
    with pytest.raises(TraceError, match=f"^mine: row {row}: {column} = ") as caught:
        Trace("mine", requests)
    assert caught.value.value == value or np.isnan(value)
    path = tmp_path / "t.parquet"
    write_altered(talk, requests, path)
    refuses("parquet", path, row=row, column=column, value=np.nan)


def write_altered(talk: Trace, requests: pd.DataFrame, path: Path) -> None:
    """Write a file that claims to be ours and holds `requests`, unchecked."""
    write_trace(talk, path)
    about = pq.read_schema(path).metadata
    if requests["output_tokens"].dtype == object:
        requests = requests.assign(output_tokens=requests["output_tokens"].astype(str))
    table = pa.Table.from_pandas(requests, preserve_index=False)
    pq.write_table(table.replace_schema_metadata(about), path)


def test_nothing_is_written_when_writing_fails(paged, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("kept")
    with pytest.raises(ValueError, match="block size must be within"):
        write_mooncake(paged, path, block_size=0)
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]
    assert path.read_text() == "kept"


def test_blocks_that_do_not_cover_the_input(paged):
    short = Blocks(paged.blocks.ids, paged.blocks.tokens - 1, paged.blocks.starts, 8)
    with pytest.raises(TraceError, match=r"row 0: input_tokens = 20: differs from the tokens"):
        Trace("short", paged.requests, short)
