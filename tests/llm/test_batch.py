from __future__ import annotations

import json

import pytest

from iac_lib.intents.tnt_llm import Settings, discover_intents
from iac_lib.llm.answer import LLMError, Waiting
from iac_lib.llm.batch import BatchLLM, read_batch

SMALL = Settings(batch=4, most=9, workers=3)


def answer(body: dict) -> str:
    """Return what a model that knows cats and code would say."""
    question = body["messages"][-1]["content"]
    if "structured_outputs" in body:
        choices = body["structured_outputs"]["choice"]
        topic = "cats" if "cat" in question.rpartition("Request:")[2] else "programming"
        return topic if topic in choices else choices[-1]
    if question.startswith("Below are queries"):
        return question.splitlines()[-2].strip() if "cat" in question else "write code"
    names = ["programming", "cats"]
    return json.dumps([{"name": name, "description": f"about {name}"} for name in names])


def respond(questions, results, skip=0):
    lines = []
    for number, line in enumerate(questions.read_text().splitlines()):
        asked = json.loads(line)
        body = {
            "model": asked["body"]["model"],
            "choices": [{"message": {"content": answer(asked["body"])}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }
        status = 500 if number < skip else 200
        lines.append(
            {"custom_id": asked["custom_id"], "response": {"status_code": status, "body": body}}
        )
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))


def discover(tmp_path, skip=0):
    texts = [f"[turn 1] {'feed my cat' if i % 3 else 'sort a list'} {i}" for i in range(10)]
    asked = []
    for _ in range(30):
        llm = BatchLLM(tmp_path / "answers.jsonl", "large")
        try:
            return discover_intents(llm, texts, settings=SMALL), asked
        except Waiting:
            llm.write_questions(tmp_path / "questions.jsonl")
            asked += (tmp_path / "questions.jsonl").read_text().splitlines()
            respond(tmp_path / "questions.jsonl", tmp_path / "results.jsonl", skip)
            read_batch(tmp_path / "results.jsonl", tmp_path / "answers.jsonl")
            skip = 0
    raise AssertionError("the run never ended")


def test_discovery_goes_on_batch_by_batch_and_asks_nothing_twice(tmp_path):
    found, asked = discover(tmp_path)
    assert {each.name for each in found.classes} == {"cats", "programming"}
    assert not found.problems
    keys = [json.loads(line)["custom_id"] for line in asked]
    assert len(keys) == len(set(keys))
    assert found.usage.requests >= len(keys)


def test_what_failed_is_asked_again(tmp_path):
    found, asked = discover(tmp_path, skip=3)
    keys = [json.loads(line)["custom_id"] for line in asked]
    assert len(keys) - len(set(keys)) == 3
    assert {each.name for each in found.classes} == {"cats", "programming"}


def test_all_questions_of_a_step_are_in_one_batch(tmp_path):
    llm = BatchLLM(tmp_path / "answers.jsonl", "large")
    with pytest.raises(Waiting):
        discover_intents(llm, [f"text {i}" for i in range(10)], settings=SMALL)
    assert llm.write_questions(tmp_path / "questions.jsonl") == 10


def test_a_damaged_result_adds_nothing(tmp_path):
    good = {"custom_id": "k", "response": {"status_code": 200, "body": {
        "model": "m", "choices": [{"message": {"content": "x"}}]}}}  # fmt: skip
    (tmp_path / "results.jsonl").write_text(json.dumps(good) + '\n{"custom_id": 3}\n')
    with pytest.raises(LLMError, match="line 2"):
        read_batch(tmp_path / "results.jsonl", tmp_path / "answers.jsonl")
    assert not (tmp_path / "answers.jsonl").exists()
