from __future__ import annotations

import csv

import pytest

from iac_lib.traces.errors import TraceError
from iac_lib.traces.realhumaneval import CLEARED, EMPTY, FIELDS, load_realhumaneval
from iac_lib.traces.tokenizers import Characters


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path / "cache"))


def user(text):
    return {"content": text, "role": "user"}


def robot(text):
    return {"content": text, "role": "assistant"}


def write_chats(path, *rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows(rows)
    return path


def test_grows_until_the_chat_is_cleared(tmp_path):
    path = write_chats(
        tmp_path / "chat.csv",
        ([user("one")], "A", 7, 0.0, "t"),
        ([user("one"), robot("A"), user("two"), user("three")], "B", 7, 10.5, "t"),
        ([user("one")], "C", 7, 20.0, "t"),
        ([], "nothing", 7, 25.0, "t"),
        ([user("one")], "D", 7, 30.0, "u"),
    )
    chats = load_realhumaneval(path, Characters())
    assert chats.turns["conversation_id"].tolist() == ["7/t/1", "7/t/1", "7/t/2", "7/u/1"]
    assert chats.turns["turn"].tolist() == [1, 2, 1, 1]
    assert chats.turns["start_s"].tolist() == [0.0, 10.5, 20.0, 30.0]
    assert chats.turns["user_text"].tolist() == ["one", "two\nthree", "one", "one"]
    assert chats.turns["user_tokens"].tolist() == [1, 3, 1, 1]
    assert chats.turns["output_tokens"].tolist() == [1, 1, 1, 1]
    assert chats.skipped == {CLEARED: 1, EMPTY: 1}


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("__import__('os').getcwd()", r"row 2: request = .*: is no Python literal"),
        ("[{'content': 'cut", "is no Python literal"),
        ("{'content': 1}", "must be a list of messages"),
        ("[{'role': 'user'}]", r"row 2: content = None: field content is missing"),
        ("[{'role': 'user', 'content': 3}]", r"row 2: content = 3: must be of type str"),
    ],
)
def test_bad_requests_are_never_run(tmp_path, request_, says):
    path = write_chats(tmp_path / "chat.csv", (request_, "A", 7, 0.0, "t"))
    with pytest.raises(TraceError, match=says):
        load_realhumaneval(path, Characters())
    assert [p.name for p in tmp_path.iterdir()] == ["chat.csv"]


def test_published_chats(real):
    chats = load_realhumaneval(real("realhumaneval/chat_data.csv"), Characters())
    assert chats.skipped == {CLEARED: 16, EMPTY: 2}
    assert len(chats.turns) == 1_055 - 2
    assert chats.turns["conversation_id"].str.split("/").str[0].nunique() == 107
    delays = chats.turns.groupby("conversation_id")["start_s"].diff().dropna()
    assert (len(delays), delays.median()) == (651, pytest.approx(78.5, abs=0.1))
