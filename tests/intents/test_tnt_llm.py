"""Discovery through the real openai client, by a server that misbehaves.

Behind the server is a small rule in place of a model: it sorts requests by the kind that their
text names, so that what discovery should find is known.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from iac_lib.intents.class_lists import IntentClass
from iac_lib.intents.tnt_llm import (
    NONE,
    Settings,
    discover_intents,
    drop_rare,
    load_seeds,
    share_covered,
)
from iac_lib.llm.answer import LLMError
from iac_lib.llm.openai_api import OpenAILLM
from iac_lib.llm.recorded import RecordedLLM, compact_answers
from tests.chat_server import close_in_the_middle, refuse, send_cut_json, serve_chat, stall

pytest.importorskip("openai", reason="openai is not installed: make models")
SETTINGS = Settings(batch=10, most=12, added=2, rarest=0.05, workers=4)
KINDS = {"programming": 20, "writing": 12, "cooking": 8, "travel": 6, "music": 3, "law": 1}
TEXTS = [f"[turn 1] kind={kind} no {i}" for kind, count in KINDS.items() for i in range(count)]


def think(body):
    """Do what a model should do with each of the prompts."""
    question = body["messages"][1]["content"]
    kinds = re.findall(r"kind=(\w+)", question)
    listed = dict(re.findall(r'"name": "(\w+)", "description": "([^"]*)"', question))
    if question.startswith("Below are queries"):
        return re.search(r"kind=\w+ no \d+", question)[0]
    if "Which class does the request belong to?" in question:
        names = re.findall(r"^- (\w+):", question, re.MULTILINE)
        return kinds[0] if kinds and kinds[0] in names else NONE
    if "split one that is too" in question:
        return write({name: listed[name] for name in listed})
    if "fit none of them" in question:
        added = [kind for kind, _ in Counter(kinds).most_common(2)]
        return write({**listed, **{kind: f"All about {kind}." for kind in added}})
    assert "Merge classes" in question
    return write({name: about for name, about in listed.items() if name != "conversation"})


def write(classes):
    return json.dumps([{"name": n, "description": d} for n, d in classes.items()])


def stumble(body):
    """Answer every third question badly at first, and well after a complaint."""
    answer = think(body)
    if len(body["messages"]) > 2 or digit(body) % 3:
        return answer
    if body["messages"][1]["content"].startswith("Below are queries"):
        return "  "
    bad = ["", "I am not sure about that one.", "Sure! Here you are: " + answer, answer[:4]]
    return bad[digit(body) // 3 % 4]


def digit(body):
    return hashlib.sha256(body["messages"][1]["content"].encode()).digest()[0]


@pytest.fixture
def server():
    with serve_chat() as server:
        server.reply = think
        yield server


def open_llm(server):
    return OpenAILLM(server.url, "served", timeout_s=1, retries=2)


def check(found):
    assert [each.name for each in found.classes] == list(KINDS)[:5]
    counts = found.labels["intent"].value_counts()
    assert counts.to_dict() == {kind: KINDS[kind] for kind in list(KINDS)[:5]}
    # Law is rarer than a twentieth: dropped, and its requests fit no other class.
    assert found.labels["intent"].isna().sum() == KINDS["law"]
    assert found.problems == ()


def test_classes_are_found_from_seven_seeds(server):
    found = discover_intents(open_llm(server), TEXTS, seed=1, settings=SETTINGS)
    check(found)
    assert found.usage.requests == len(server.bodies)
    assert found.usage.prompt_tokens == 100 * len(server.bodies)
    assert found.usage.cost(1.0, 2.0) == pytest.approx(110 * len(server.bodies) / 1e6)


def test_coverage_grows_and_is_judged_on_fresh_requests(server):
    coverage = discover_intents(open_llm(server), TEXTS, seed=1, settings=SETTINGS).coverage
    assert coverage["requests"].tolist() == [10] * 5 + [50]
    assert coverage["classes"].iloc[0] == 7
    first, *_, last = coverage["coverage"]
    assert first < 0.9 and last == pytest.approx(0.98)
    assert coverage["classes"].iloc[:-1].is_monotonic_increasing


def test_answers_that_need_mending_change_nothing(server):
    server.reply = stumble
    found = discover_intents(open_llm(server), TEXTS, seed=1, settings=SETTINGS)
    check(found)
    complaints = [body for body in server.bodies if len(body["messages"]) > 2]
    assert len(complaints) > 20
    assert found.usage.requests == len(server.bodies)


@pytest.mark.parametrize(
    "fault",
    [refuse(429, Retry_After="0.1"), refuse(500), stall(1.5), close_in_the_middle, send_cut_json],
    ids=["429", "500", "stalled", "closed", "cut"],
)
def test_passing_faults_of_the_server_leave_no_trace(server, fault):
    server.faults.extend([fault] * 2)
    check(discover_intents(open_llm(server), TEXTS, seed=1, settings=SETTINGS))


def test_a_step_that_fails_for_good_leaves_the_classes_as_they_were(server):
    def stubborn(body):
        steps = ("fit none of them", "Merge classes", "split one")
        return "no" if any(s in body["messages"][1]["content"] for s in steps) else think(body)

    server.reply = stubborn
    found = discover_intents(open_llm(server), TEXTS, seed=1, settings=SETTINGS)
    assert {each.name for each in found.classes} == {"programming", "writing"}
    assert sum("JSON list" in problem for problem in found.problems) == 6


def test_requests_without_a_summary_are_left_out(server):
    server.reply = lambda body: "" if "kind=law" in str(body["messages"]) else think(body)
    found = discover_intents(open_llm(server), TEXTS, seed=1, settings=SETTINGS)
    assert found.labels["summary"].isna().sum() == KINDS["law"] == len(found.problems)
    assert found.coverage["coverage"].iloc[-1] == 1.0
    server.reply = lambda body: ""
    with pytest.raises(LLMError, match="none of 2 requests"):
        discover_intents(open_llm(server), TEXTS[:2], settings=SETTINGS)


def test_a_killed_run_asks_only_for_what_it_lacks(server, tmp_path):
    class Killed(RecordedLLM):
        def complete(self, messages, **options):
            if len(self) == 80:
                raise KeyboardInterrupt
            return super().complete(messages, **options)

    settings = replace(SETTINGS, workers=1)
    path = tmp_path / "answers.jsonl"
    with pytest.raises(KeyboardInterrupt):
        discover_intents(Killed(path, open_llm(server)), TEXTS, 1, settings)
    assert len(server.bodies) == 80
    path.write_bytes(path.read_bytes()[:-10])
    check(discover_intents(RecordedLLM(path, open_llm(server)), TEXTS, 1, settings))
    with serve_chat() as fresh:
        fresh.reply = think
        whole = RecordedLLM(tmp_path / "whole.jsonl", open_llm(fresh))
        discover_intents(whole, TEXTS, 1, settings)
        # One answer was cut and asked for once more.
        assert len(server.bodies) == len(fresh.bodies) + 1


def test_recorded_answers_give_the_same_classes_without_a_server(server, tmp_path):
    server.reply = stumble
    llm = RecordedLLM(tmp_path / "a.jsonl", open_llm(server))
    first = discover_intents(llm, TEXTS, 1, SETTINGS)
    compact_answers(tmp_path / "a.jsonl", tmp_path / "a.parquet")
    asked = len(server.bodies)
    replay = RecordedLLM(tmp_path / "a.parquet", name="served")
    again = discover_intents(replay, TEXTS, 1, SETTINGS)
    assert again.classes == first.classes and len(server.bodies) == asked
    pd.testing.assert_frame_equal(again.labels, first.labels)
    pd.testing.assert_frame_equal(again.coverage, first.coverage)


def test_there_are_seven_seeds():
    assert len({each.name for each in load_seeds()}) == 7


def test_the_most_frequent_class_is_never_dropped():
    classes = [IntentClass("a", "x"), IntentClass("b", "y")]
    kept, dropped = drop_rare(classes, ["b", "a", "a", NONE, None], 0.9)
    assert [each.name for each in kept] == ["a"] and dropped == {"b"}
    assert share_covered(["a", NONE, None, "b"]) == 0.5


@pytest.mark.parametrize(
    "wrong",
    [{"batch": 0}, {"most": 0}, {"attempts": 0}, {"workers": -1}, {"added": -1}, {"rarest": 1}],
)
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)
