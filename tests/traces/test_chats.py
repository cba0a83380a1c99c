"""WildChat, ShareChat and LMSys-Chat from tiny files of their schemas."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iac_lib.traces import chat_files
from iac_lib.traces.arrivals import OriginalDelays, OriginalTimes, schedule
from iac_lib.traces.chat_times import read_times
from iac_lib.traces.chat_turns import BACKWARD, DUPLICATE, NO_TIME, UNANSWERED, UNTIMED
from iac_lib.traces.errors import TraceError
from iac_lib.traces.lmsys import load_lmsys
from iac_lib.traces.pairing import NO_ANSWER, NO_QUERY, Message, pair_turns
from iac_lib.traces.sharechat import NO_TEXT, REPEATED, load_sharechat
from iac_lib.traces.wildchat import load_wildchat

START = datetime(2023, 4, 9, tzinfo=timezone.utc)
MESSAGE = pa.struct(
    [
        ("content", pa.string()),
        ("country", pa.string()),
        ("header", pa.struct([("accept-language", pa.string())])),
        ("redacted", pa.bool_()),
        ("role", pa.string()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("toxic", pa.bool_()),
        ("turn_identifier", pa.int64()),
    ]
)
WILDCHAT = pa.schema(
    [
        ("conversation_hash", pa.string()),
        ("model", pa.string()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("conversation", pa.list_(MESSAGE)),
        ("turn", pa.int64()),
        ("language", pa.string()),
        ("openai_moderation", pa.list_(pa.struct([("flagged", pa.bool_())]))),
    ]
)
LMSYS = pa.schema(
    [
        ("conversation_id", pa.string()),
        ("model", pa.string()),
        ("conversation", pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]))),
        ("turn", pa.int64()),
        ("redacted", pa.bool_()),
    ]
)


class Letters:
    """One token per character."""

    name = "letters"

    def count(self, texts):
        return np.array([len(text) for text in texts], np.int64)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=["pyarrow", "datasets"])
def way(request, monkeypatch, tmp_path):
    """Read local files as such, or through the package that reads the hub."""
    if request.param == "datasets":
        pytest.importorskip("datasets", reason="needs the extra: pip install 'iac-lib[datasets]'")
        monkeypatch.setattr(chat_files, "find_files", lambda source: None)
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    return request.param


def said(role: str, content: str | None, seconds: float | None = None, mark: int = 1) -> dict:
    time = None if seconds is None else START + timedelta(seconds=seconds)
    return {"role": role, "content": content, "timestamp": time, "turn_identifier": mark}


def asked(*answers: float | None, mark: int = 1) -> list[dict]:
    """A conversation whose answers have these times."""
    return [
        message
        for seconds in answers
        for message in (said("user", "why", None, mark), said("assistant", "hence", seconds, mark))
    ]


def write(folder, rows: list[tuple], schema=WILDCHAT, **options):
    """Write a Parquet file of (id, messages)."""
    key = schema.names[0]
    table = pa.Table.from_pylist([{key: k, "conversation": c} for k, c in rows], schema)
    folder.mkdir(exist_ok=True)
    path = folder / "train-00000-of-00001.parquet"
    pq.write_table(table, path, row_group_size=2, **options)
    return path


def test_wildchat_is_paired_timed_and_sorted(tmp_path, way):
    rows = [
        ("late", asked(100, 160.5, mark=7)),
        ("early", [said("user", "a", 10), said("assistant", "bc", 12), said("user", "left over")]),
        ("early", asked(10.0, mark=9)),
        ("early", [said("user", "a", 10), said("assistant", "bc", 12)]),
        ("only", [said("user", "nobody answers")]),
    ]
    write(tmp_path / "data", rows)
    chats = load_wildchat(str(tmp_path / "data"), Letters())
    turns = chats.turns
    assert chats.name == "wildchat"
    assert turns["conversation_id"].tolist() == ["early-1", "early-9", "late-7", "late-7"]
    assert turns["turn"].tolist() == [1, 1, 1, 2]
    assert turns["start_s"].tolist() == [0, 0, 90, 150.5]
    assert turns["user_tokens"].tolist() == [1, 3, 3, 3]
    assert turns["output_tokens"].tolist() == [2, 5, 5, 5]
    assert turns["user_text"].tolist() == ["a", "why", "why", "why"]
    assert chats.skipped == {NO_ANSWER: 2, DUPLICATE: 1, UNANSWERED: 1}
    trace = schedule(chats, OriginalTimes(), OriginalDelays())
    assert trace.requests["arrival_s"].tolist() == [0, 0, 90, 150.5]


def test_bad_times_end_a_conversation(tmp_path):
    rows = [
        ("backward", asked(5, 9, 8, 20)),
        ("gap", asked(5, None, 8)),
        ("never", asked(None, 3)),
        ("same", asked(4, 4)),
    ]
    chats = load_wildchat(write(tmp_path, rows), Letters())
    assert chats.turns.groupby("conversation_id")["turn"].max().to_dict() == {
        "backward-1": 2,
        "gap-1": 1,
        "same-1": 2,
    }
    assert chats.skipped == {BACKWARD: 2, NO_TIME: 2, UNTIMED: 1}


def test_limit_reads_the_first_rows(tmp_path, way):
    write(tmp_path / "data", [(str(i), asked(9 - i)) for i in range(5)])
    chats = load_wildchat(str(tmp_path / "data"), Letters(), limit=3)
    assert chats.turns["conversation_id"].tolist() == ["2-1", "1-1", "0-1"]


def test_batches_make_no_difference(tmp_path, monkeypatch):
    rows = [(f"c{i}", asked(*range(i % 4, 4), mark=i)) for i in range(50)]
    path = write(tmp_path, rows)
    whole = load_wildchat(path, Letters()).turns
    monkeypatch.setattr("iac_lib.traces.chat_turns.BATCH", 3)
    monkeypatch.setattr(chat_files, "ROWS", 7)
    assert load_wildchat(path, Letters()).turns.equals(whole)


def test_lmsys_keeps_its_order_and_has_no_times(tmp_path, way):
    talk = [{"role": r, "content": c} for r, c in [("user", "hi"), ("assistant", "ho")]]
    write(tmp_path / "data", [("b", talk), ("a", talk * 2), ("b", talk)], LMSYS)
    chats = load_lmsys(str(tmp_path / "data"), Letters())
    assert chats.turns["conversation_id"].tolist() == ["b", "a", "a"]
    assert "start_s" not in chats.turns and chats.skipped == {DUPLICATE: 1}


def test_pairing_merges_and_drops():
    skipped = Counter()
    roles = ["assistant", "system", "user", "user", "assistant", "Assistant", "user", "user"]
    turns = pair_turns((Message(r, f"{i}", float(i)) for i, r in enumerate(roles)), skipped)
    assert turns == [("2\n3", "4\n5", 3.0)]
    assert skipped == {NO_QUERY: 1, "message from 'system'": 1, NO_ANSWER: 1}


CSV = """platform,url,turns_count,message_index,role,plain_text,message_create_time
chatgpt,x/1,2,1,user,"one, ""two""
lines",ts:1700000100.5
chatgpt,x/1,2,2,assistant,NA,ts:1700000109
chatgpt,x/1,2,10,assistant,d,
chatgpt,x/1,2,9,user,c,ts:1700000160.5
chatgpt,x/1,2,9,user,c,ts:1700000160.5
chatgpt,x/2,1,0,user,,ts:1700000000
chatgpt,x/2,1,1,user,q,
chatgpt,x/2,1,2,assistant,a,2023-11-14T22:13:25Z
chatgpt,x/3,1,0,user,u,ts:9871234567.1
chatgpt,x/3,1,1,assistant,u,
chatgpt,x/2,1,0,user,q,
chatgpt,x/2,1,2,assistant,a,
"""
UNTIMED_CSV = """platform,url,turns_count,message_index,role,plain_text,last_updated
perplexity,p/1,1,0,user,q,"August 12, 2025"
perplexity,p/1,1,1,assistant,a,"August 12, 2025"
"""


@pytest.fixture
def sharechat(tmp_path):
    folder = tmp_path / "sharechat"
    folder.mkdir()
    (folder / "chatgpt.csv").write_text(CSV, encoding="utf-8")
    (folder / "perplexity.csv").write_text(UNTIMED_CSV, encoding="utf-8")
    return folder


def test_sharechat_rows_become_conversations(sharechat):
    chats = load_sharechat(sharechat, Letters())
    turns = chats.turns
    assert turns["conversation_id"].tolist() == ["x/2", "x/1", "x/1"]
    assert turns["user_text"].tolist() == ["q", 'one, "two"\nlines', "c"]
    assert turns["output_tokens"].tolist() == [1, 2, 1]
    # An absent text still has a time, but the query that was answered has none.
    assert turns["start_s"].tolist() == pytest.approx([0, 100.5, 160.5])
    assert chats.skipped == {REPEATED: 1, NO_TEXT: 1, UNTIMED: 2, DUPLICATE: 1}


def test_sharechat_without_times_keeps_all(sharechat):
    chats = load_sharechat(sharechat, Letters(), timed=False)
    assert chats.turns["conversation_id"].tolist() == ["x/1", "x/1", "x/2", "x/3", "p/1"]
    assert len(load_sharechat(sharechat, Letters(), limit=1, timed=False)) == 1


def test_sharechat_through_datasets(sharechat, monkeypatch, tmp_path):
    datasets = pytest.importorskip("datasets", reason="needs the extra iac-lib[datasets]")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    load = datasets.load_dataset

    def load_platform(name, config, **options):
        assert name == "tucnguyen/ShareChat"
        file = sharechat / f"{config}.csv"
        return load("csv", data_files=str(file), keep_default_na=False, na_values=[""], **options)

    monkeypatch.setattr(datasets, "load_dataset", load_platform)
    monkeypatch.setattr("iac_lib.traces.sharechat.PLATFORMS", ("chatgpt", "perplexity"))
    local, hub = load_sharechat(sharechat, Letters()), load_sharechat(tokenizer=Letters())
    assert hub.turns.equals(local.turns) and hub.skipped == local.skipped
    assert len(load_sharechat(tokenizer=Letters(), limit=1, timed=False)) == 1


def test_scattered_conversation_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    head, *lines = CSV.splitlines()
    path.write_text("\n".join([head, *lines[6:8], lines[9], lines[8]]) + "\n", encoding="utf-8")
    with pytest.raises(TraceError, match=r"a\.csv: row 3: url = 'x/2': .*not together"):
        load_sharechat(path, Letters())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"x/2,1,1", b"x/2,1,one", r"row 6: message_index = 'one': must be a number"),
        (b"url", b"link", r"column\(s\) url missing; it has platform, link"),
        (b",q,", b",\xff,", r"row 0: is not UTF-8 \(b'\\xff"),
        (b",a,2023-11-14T22:13:25Z", b',"a', "row 0: is damaged or no CSV"),
        (b"chatgpt,x/2,1,1", b"chatgpt,,1,1", r"row 6: url = None: must not be null"),
    ],
)
def test_malformed_sharechat_names_file_row_and_value(tmp_path, old, new, message):
    path = tmp_path / "grok.csv"
    path.write_bytes(CSV.encode().replace(old, new))
    with pytest.raises(TraceError, match=rf"grok\.csv: {message}"):
        load_sharechat(path, Letters())


def test_times_in_every_notation():
    texts = ["ts:1700000000.5", "1700000000.5", "2023-11-14T22:13:20.5Z", "2023-11-14 22:13:20.5"]
    assert read_times(pa.array(texts), "f", "c").tolist() == [1_700_000_000.5] * 4
    written = pa.array(["January 25, 2025 01:58 AM", "August 12, 2025", "soon", "ts:9e9", None])
    seconds = read_times(written, "f", "c")
    np.testing.assert_equal(seconds, [1737770280, 1754956800, np.nan, np.nan, np.nan])
    naive = pa.array([datetime(2023, 11, 14), None], pa.timestamp("ns"))
    np.testing.assert_equal(read_times(naive, "f", "c"), [1699920000, np.nan])
    with pytest.raises(TraceError, match="must hold times, not bool"):
        read_times(pa.array([True]), "f", "c")


def bad_bytes() -> pa.Array:
    return pa.array([b"fine", b"\xff\xfe"], pa.binary()).view(pa.string())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"conversation": [[said("user", None)]]}, r"row 1: conversation.content = None"),
        ({"conversation": None}, r"row 1: conversation = None: must not be null"),
        ({"conversation_hash": None}, r"row 1: conversation_hash = None"),
    ],
)
def test_null_names_file_row_and_value(tmp_path, way, columns, message):
    row = {"conversation_hash": "h", "conversation": asked(1)}
    bad = {**row, **{k: v[0] if v else v for k, v in columns.items()}}
    path = tmp_path / "data" / "chats.parquet"
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist([row, bad], WILDCHAT), path)
    where = r"chats\.parquet" if way == "pyarrow" else "data"
    with pytest.raises(TraceError, match=f"{where}: {message}"):
        load_wildchat(str(path.parent), Letters())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"conversation_hash": ["h"]}, r"column\(s\) conversation missing; it has"),
        (
            {"conversation_hash": ["h"], "conversation": ["hi"]},
            "column conversation must be a list of messages, not string",
        ),
        (
            {"conversation_hash": ["h"], "conversation": [[{"role": "user"}]]},
            "messages have no field content; they have role",
        ),
        (
            {"conversation_hash": ["h"], "conversation": [[{"role": "user", "content": 1}]]},
            "column conversation.content must hold text, not int64",
        ),
        (
            {"conversation_hash": [1], "conversation": [[{"role": "user", "content": "a"}]]},
            "column conversation_hash must hold text, not int64",
        ),
        (
            {
                "conversation_hash": bad_bytes(),
                "conversation": [[{"role": "user", "content": "a"}]] * 2,
            },
            r"row 1: conversation_hash = b'\\xff\\xfe': is not UTF-8",
        ),
        (
            {
                "conversation_hash": ["g", "h"],
                "conversation": pa.ListArray.from_arrays(
                    [0, 1, 2], pa.StructArray.from_arrays([bad_bytes()] * 2, ["role", "content"])
                ),
            },
            r"row 1: conversation.role = b'\\xff\\xfe': is not UTF-8",
        ),
    ],
)
def test_malformed_table_names_file_and_value(tmp_path, table, message):
    path = tmp_path / "chats.parquet"
    pq.write_table(pa.table(table), path)
    with pytest.raises(TraceError, match=rf"chats\.parquet: {message}"):
        load_wildchat(path, Letters())


def test_no_rows_at_all(tmp_path):
    with pytest.raises(TraceError, match="no conversation can be used; left out: nothing"):
        load_wildchat(write(tmp_path / "data", []), Letters())


def test_damaged_missing_and_foreign_files(tmp_path):
    path = write(tmp_path / "data", [(str(i), asked(i)) for i in range(50)])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(TraceError, match=r"train-0.*damaged or no Parquet"):
        load_wildchat(path, Letters())
    whole = write(tmp_path / "data", [("a", asked(1))]).read_bytes()
    path.write_bytes(whole.replace(b"conversation_hash", b"conversation_ha\xffh"))
    with pytest.raises(TraceError, match=r"train-0.*damaged or no Parquet"):
        load_wildchat(path, Letters())
    path.write_bytes(b"")
    with pytest.raises(TraceError, match=r"train-0.*damaged or no Parquet"):
        load_wildchat(path, Letters())
    with pytest.raises(TraceError, match="does not exist"):
        load_wildchat(tmp_path / "absent.parquet", Letters())
    (tmp_path / "none").mkdir()
    with pytest.raises(TraceError, match=r"holds no \.parquet or \.csv files"):
        load_lmsys(tmp_path / "none", Letters())


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(TraceError, match=r"pip install 'iac-lib\[datasets\]'"):
        load_wildchat(tokenizer=Letters())


def test_unreachable_hub_says_what_to_do(monkeypatch):
    datasets = pytest.importorskip("datasets", reason="needs the extra iac-lib[datasets]")

    def refuse(*args, **kwargs):
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(TraceError, match=r"lmsys/lmsys-chat-1m: could not be read .*no route"):
        load_lmsys(tokenizer=Letters(), limit=1)
