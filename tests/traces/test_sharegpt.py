from __future__ import annotations

import json

import pytest

from iac_lib.traces.errors import TraceError
from iac_lib.traces.sharegpt import load_sharegpt
from iac_lib.traces.tokenizers import Characters


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path / "cache"))


def record(key: str, *texts: str | None) -> dict:
    """A record in which the human begins."""
    sides = ("human", "gpt")
    return {
        "id": key,
        "conversations": [{"from": sides[i % 2], "value": t} for i, t in enumerate(texts)],
    }


@pytest.fixture
def load(tmp_path):
    def load(content: str | bytes | list):
        path = tmp_path / "chats.json"
        if isinstance(content, list):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_sharegpt(path, Characters())

    return load


def test_packaged_part_is_used_in_full():
    conversations = load_sharegpt(tokenizer=Characters())
    assert conversations.name == "sharegpt-prefix"
    assert len(conversations) == 9435 and len(conversations.turns) == 61_197
    assert conversations.skipped == {
        "record cut by the end of the file": 1,
        "answer without a query": 66,
        "message from 'system'": 41,
        "conversation without an answered query": 25,
        "query without an answer": 10,
    }


def test_pieces_are_joined_in_numeric_order(load):
    turns = load([record("X_10", "c", "C"), record("Y", "y", "Y"), record("X_2", "b", "B")]).turns
    assert turns["conversation_id"].tolist() == ["X", "X", "Y"]
    assert turns["user_text"].tolist() == ["b", "c", "y"]
    assert turns["turn"].tolist() == [1, 2, 1]


def answer(text: str) -> list[dict]:
    return [{"from": "gpt", "value": text}]


def ends_of(records: list[dict]) -> list[int]:
    """Where each record ends in the JSON of all."""
    return [len(json.dumps(records[: n + 1])) - 1 for n in range(len(records))]


def test_a_turn_may_span_two_pieces(load):
    turns = load([record("X_0", "a"), {"id": "X_1", "conversations": answer("b")}]).turns
    assert turns["user_text"].tolist() == ["a"]


def test_every_cut_leaves_the_records_before_it(load):
    """Whatever the character at which the file ends."""
    records = [record("a", "q", "1"), record("b", 'say "\u00e9\\"', "2"), record("c", None, "q")]
    text, ends = json.dumps(records), ends_of(records)
    for end in range(ends[0], len(text)):
        conversations = load(text[:end])
        whole = sum(end >= e for e in ends)
        assert len(conversations) == min(whole, 2), text[:end]
        cut = text[ends[whole - 1] : end].strip(" ,]") != ""
        assert conversations.skipped.get("record cut by the end of the file", 0) == cut


def test_cut_between_records(load):
    conversations = load(json.dumps([record("a", "q", "1")])[:-1] + ", ")
    assert len(conversations) == 1 and conversations.skipped == {}


def test_skipped_reasons(load):
    odd = {"id": "s", "conversations": [{"from": "system", "value": "x"}, *answer("y")]}
    conversations = load([odd, record("a", "q", "1", "left"), record("n", None, "z")])
    assert conversations.skipped == {
        "message from 'system'": 1,
        "answer without a query": 2,
        "conversation without an answered query": 2,
        "query without an answer": 1,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"id": "a", "conversations": [], "x": "\xff"}]', "is not UTF-8 at byte 40"),
        ("{}", "does not start with a JSON list"),
        ("", "does not start with a JSON list"),
        ('[{"id": "a", "conv', "row 0: is not valid JSON"),
        (
            json.dumps([record("a", "q", "1"), record("b", "q", "2")]).replace('"b"', "b"),
            "row 1: is not valid JSON at character",
        ),
        (json.dumps([record("a", "q", "1")])[:-1] + ", oops]", "row 1: is not valid JSON"),
        ("[3]", "row 0: record has no id"),
        ('[{"id": "a"}]', "row 0: record has no id"),
        ('[{"id": "a", "conversations": "hi"}]', "row 0: conversations = 'hi': must be a list"),
        ('[{"id": "a", "conversations": ["hi"]}]', "row 0: message = 'hi': must be a message"),
        (
            '[{"id": "a", "conversations": [{"from": "human", "value": 1}]}]',
            "row 0: message = .*must be a message",
        ),
        (
            '[{"id": "a", "conversations": [{"from": ["human"], "value": "q"}]}]',
            "row 0: message = .*must be a message",
        ),
        ('[{"id": [1], "conversations": []}]', r"row 0: id = \[1\]: must be of type str or int"),
        (r'[{"id": "\ud800", "conversations": []}]', "row 0: id = .*surrogate"),
        ('[{"id": "a", "conversations": ' + "[" * 100_000, "row 0: cannot be read"),
        ('[{"id": ' + "1" * 5000 + "}]", "row 0: cannot be read"),
    ],
)
def test_malformed_names_file_and_record(load, content, message):
    with pytest.raises(TraceError, match=rf"chats\.json: {message}"):
        load(content)


def test_half_a_character_does_not_cost_the_data_set(load):
    turns = load([record("a", "caf\ud83d", "1")]).turns
    assert turns["user_text"].tolist() == ["caf?"]


def test_empty_list_has_no_conversations(load):
    assert len(load("[]")) == 0
