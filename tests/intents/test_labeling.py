"""Labelling through the real openai client, by a server that misbehaves."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from iac_lib.intents.contexts import show_context
from iac_lib.intents.labeling import (
    EXAMPLES,
    hash_instructions,
    label_contexts,
    show_requests,
    write_instructions,
)
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.llm.answer import LLMError
from iac_lib.llm.local import open_local
from iac_lib.llm.openai_api import OpenAILLM
from iac_lib.llm.recorded import RecordedLLM, compact_answers
from iac_lib.traces.conversations import Conversations
from tests.chat_server import (
    close_in_the_middle,
    refuse,
    say,
    send_cut_json,
    serve_chat,
    stall,
)

TAXONOMY = load_taxonomy(30)


@pytest.fixture
def server():
    pytest.importorskip("openai", reason="openai is not installed: make models")
    with serve_chat() as server:
        server.reply = decide
        yield server


def open_llm(server, retries=1):
    return OpenAILLM(server.url, "served", structured="vllm", timeout_s=1, retries=retries)


def decide(body):
    """Answer with the intent that the last context names by its position."""
    context = [m["content"] for m in body["messages"] if m["content"].startswith("[turn")][-1]
    return TAXONOMY.names[int(context.split()[-1]) % 30]


def some_contexts(count):
    return pd.DataFrame(
        {
            "conversation_id": [f"c{i}" for i in range(count)],
            "turn": 1,
            "text": [f"[turn 1] number {i}" for i in range(count)],
        }
    )


def expected(count):
    return [TAXONOMY.names[i % 30] for i in range(count)]


def test_labels_come_in_order_with_a_card(server, tmp_path):
    labelling = label_contexts(open_llm(server), some_contexts(40), workers=8)
    assert labelling.labels["intent"].tolist() == expected(40)
    assert labelling.labels["conversation_id"].tolist() == [f"c{i}" for i in range(40)]
    assert labelling.labels["confidence"].tolist() == pytest.approx([0.25] * 40)
    card = labelling.card
    assert (card["contexts"], card["labelled"], card["failed"], card["mended"]) == (40, 40, 0, 0)
    assert (card["requests"], card["prompt_tokens"], card["output_tokens"]) == (40, 4000, 200)
    labelling.write(tmp_path / "labels.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "labels.parquet"), labelling.labels)
    assert json.loads((tmp_path / "labels.json").read_text()) == card


@pytest.mark.parametrize(
    ("answer", "mended", "attempts"),
    [
        ("Label: Creative_Writing.", True, 1),
        ("The user wants creative writing here.", True, 1),
        ("poetry", False, 2),
        ("", False, 2),
        ("creative_writing or chitchat", False, 2),
    ],
)
def test_a_wrong_answer_is_mended_or_asked_for_again(server, answer, mended, attempts):
    server.faults.append(say(answer))
    labelling = label_contexts(open_llm(server), some_contexts(2).iloc[1:], workers=1)
    row = labelling.labels.iloc[0]
    assert (row["intent"], row["mended"], row["attempts"]) == ("creative_writing", mended, attempts)
    assert len(server.bodies) == attempts
    if attempts == 2:
        said, complaint = server.bodies[1]["messages"][-2:]
        assert said == {"role": "assistant", "content": answer or "(nothing)"}
        assert "exactly one intent" in complaint["content"]
        assert labelling.card["asked_again"] == 1 and labelling.card["requests"] == 2


@pytest.mark.parametrize(
    "fault",
    [refuse(429, Retry_After="0.1"), refuse(500), stall(1.5), close_in_the_middle, send_cut_json],
    ids=["429", "500", "stalled", "closed", "cut"],
)
def test_passing_faults_of_the_server_leave_no_trace(server, fault):
    server.faults.append(fault)
    labelling = label_contexts(open_llm(server), some_contexts(3), workers=1)
    assert labelling.labels["intent"].tolist() == expected(3)
    assert len(server.bodies) == 4


def test_a_context_without_a_label_does_not_stop_the_others(server):
    server.reply = lambda body: "no idea" if "number 3" in str(body["messages"]) else decide(body)
    labelling = label_contexts(open_llm(server), some_contexts(6), workers=3)
    labels = labelling.labels
    assert labels["intent"].drop(3).tolist() == [n for i, n in enumerate(expected(6)) if i != 3]
    assert pd.isna(labels.loc[3, "intent"]) and "no idea" in labels.loc[3, "problem"]
    assert labelling.card["failed"] == 1 and labelling.card["labelled"] == 5
    # Three answers to the third context, one to each of the others.
    assert len(server.bodies) == 8


def test_a_server_that_is_gone_fails_contexts_and_not_the_run(server):
    server.faults.extend([refuse(400)] * 2)
    labels = label_contexts(open_llm(server), some_contexts(5), workers=1).labels
    assert labels["intent"].isna().sum() == 2 and labels["problem"].notna().sum() == 2


def test_a_killed_run_asks_only_for_what_it_lacks(server, tmp_path):
    path = tmp_path / "answers.jsonl"
    contexts = some_contexts(20)

    class Killed(RecordedLLM):
        def complete(self, messages, **options):
            if len(self) == 12:
                raise KeyboardInterrupt
            return super().complete(messages, **options)

    with pytest.raises(KeyboardInterrupt):
        label_contexts(Killed(path, open_llm(server)), contexts, workers=1)
    assert len(server.bodies) == 12
    # The kill came in the middle of a line.
    path.write_bytes(path.read_bytes()[:-25])
    labels = label_contexts(RecordedLLM(path, open_llm(server)), contexts, workers=4).labels
    assert labels["intent"].tolist() == expected(20)
    assert len(server.bodies) == 12 + 9
    label_contexts(RecordedLLM(path, open_llm(server)), contexts, workers=4)
    assert len(server.bodies) == 21


def test_recorded_answers_give_the_same_labels_without_a_server(server, tmp_path):
    server.faults.extend([say("poetry"), say("Label: chitchat")])
    llm = RecordedLLM(tmp_path / "a.jsonl", open_llm(server))
    first = label_contexts(llm, some_contexts(30), workers=4)
    compact_answers(tmp_path / "a.jsonl", tmp_path / "a.parquet")
    asked = len(server.bodies)
    again = label_contexts(
        RecordedLLM(tmp_path / "a.parquet", name="served"), some_contexts(30), workers=2
    )
    pd.testing.assert_frame_equal(again.labels, first.labels)
    assert len(server.bodies) == asked
    assert {**again.card, "seconds": 0} == {**first.card, "seconds": 0}


def test_every_intent_and_its_description_is_in_the_prompt():
    system, *examples = write_instructions(TAXONOMY)
    for name, description in zip(TAXONOMY.names, TAXONOMY.descriptions, strict=True):
        assert f"- {name}: {description}" in system["content"]
    assert [m["content"] for m in examples[1::2]] == [intent for _, intent in EXAMPLES]
    assert {intent for _, intent in EXAMPLES} <= set(TAXONOMY.names)


def test_the_hash_stands_for_the_prompt(monkeypatch):
    before = hash_instructions(TAXONOMY)
    assert before == hash_instructions(TAXONOMY)
    monkeypatch.setattr("iac_lib.intents.labeling.EXAMPLES", EXAMPLES[1:])
    assert hash_instructions(TAXONOMY) != before


def test_requests_are_shown_with_up_to_three_before_them():
    texts = [f"query {i}" for i in range(1, 7)]
    turns = pd.DataFrame(
        {
            "conversation_id": ["a"] * 6 + ["b"],
            "turn": [1, 2, 3, 4, 5, 6, 1],
            "user_tokens": 2,
            "output_tokens": 2,
            "user_text": [*texts, "other"],
        }
    )
    chosen = pd.DataFrame({"conversation_id": ["b", "a", "a"], "turn": [1, 2, 6]})
    shown = show_requests(Conversations("made", turns, {}), chosen)
    assert shown["text"].tolist() == [
        "[turn 1] other",
        show_context(texts[:2], 2),
        show_context(texts[2:], 6),
    ]
    assert shown["conversation_id"].tolist() == ["b", "a", "a"]
    short = show_requests(Conversations("made", turns, {}), chosen, earlier=3, last=6)
    assert short["text"].tolist()[1] == show_context(texts[:2], 2, 3, 6)


@pytest.mark.models
def test_a_local_model_gives_every_intent_a_probability():
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: make models")
    try:
        llm = open_local("smollm2-135m", context=3072)
    except LLMError as missing:
        pytest.skip(str(missing))
    labelling = label_contexts(llm, some_contexts(3), workers=1)
    logs = np.stack(labelling.labels["log_probabilities"])
    assert logs.shape == (3, 30) and logs.dtype == np.float32
    assert np.exp(logs).sum(1) == pytest.approx([1] * 3, abs=1e-3)
    for row, confidence in zip(logs, labelling.labels["confidence"], strict=True):
        assert math.exp(row.max()) == pytest.approx(confidence, rel=1e-4)
    assert labelling.card["failed"] == labelling.card["mended"] == 0
