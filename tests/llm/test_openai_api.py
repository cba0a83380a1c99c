"""The real openai client against a server that misbehaves."""

from __future__ import annotations

import logging
import time

import pytest

from iac_lib.llm.answer import LLMError, NotAChoice
from iac_lib.llm.ask import ask_all
from iac_lib.llm.openai_api import OpenAILLM
from tests.chat_server import (
    close_in_the_middle,
    refuse,
    say,
    send_cut_json,
    send_something_else,
    serve_chat,
    stall,
)

pytest.importorskip("openai", reason="openai is not installed: make models")
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def server():
    with serve_chat() as server:
        server.reply = lambda body: " yes \n"
        yield server


def open_llm(server, **options):
    return OpenAILLM(server.url, "m", **{"timeout_s": 5, "retries": 2, **options})


def test_an_answer_and_what_it_took(server):
    answer = open_llm(server).complete(HELLO, max_tokens=7, seed=3)
    assert (answer.text, answer.prompt_tokens, answer.output_tokens) == ("yes", 100, 5)
    assert answer.model == "m" and 0 < answer.seconds < 5 and answer.probabilities is None
    body = server.bodies[0]
    assert (body["messages"], body["max_tokens"], body["seed"]) == (HELLO, 7, 3)
    assert body["temperature"] == 0 and "logprobs" not in body


@pytest.mark.parametrize(
    ("structured", "field", "value"),
    [
        ("vllm", "structured_outputs", {"choice": ["yes", "n.o"]}),
        ("vllm-guided", "guided_choice", ["yes", "n.o"]),
        ("sglang", "regex", r"(yes|n\.o)"),
    ],
)
def test_choices_are_sent_as_the_server_takes_them(server, structured, field, value):
    answer = open_llm(server, structured=structured).complete(HELLO, choices=("yes", "n.o"))
    assert server.bodies[0][field] == value
    assert answer.probabilities == {"yes": pytest.approx(0.25)}


def test_another_way_to_send_choices_is_refused(server):
    with pytest.raises(ValueError, match="vllm-guided"):
        open_llm(server, structured="guess")


def test_an_answer_that_is_no_choice_is_refused_with_its_tokens(server):
    with pytest.raises(NotAChoice, match="'yes'") as refusal:
        open_llm(server).complete(HELLO, choices=("no", "maybe"))
    assert refusal.value.answer.output_tokens == 5


@pytest.mark.parametrize(
    "fault",
    [refuse(500), refuse(503), close_in_the_middle, send_cut_json, stall(1.5)],
    ids=["500", "503", "closed", "cut", "stalled"],
)
def test_a_passing_fault_is_survived(server, fault):
    server.faults.append(fault)
    assert open_llm(server, timeout_s=1).complete(HELLO).text == "yes"
    assert len(server.bodies) == 2


def test_retry_after_is_kept(server):
    server.faults.append(refuse(429, Retry_After="2"))
    start = time.perf_counter()
    assert open_llm(server).complete(HELLO).text == "yes"
    assert time.perf_counter() - start >= 1.9


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (refuse(500), "InternalServerError"),
        (refuse(429, Retry_After="0.1"), "RateLimitError"),
        (close_in_the_middle, "APIConnectionError"),
        (send_cut_json, "broken JSON"),
    ],
    ids=["500", "429", "closed", "cut"],
)
def test_repetition_is_bounded(server, fault, message):
    server.faults.extend([fault] * 50)
    with pytest.raises(LLMError, match=message):
        open_llm(server).complete(HELLO)
    assert len(server.bodies) == 3


def test_what_cannot_succeed_is_not_repeated(server):
    server.faults.append(refuse(401))
    with pytest.raises(LLMError, match="AuthenticationError"):
        open_llm(server).complete(HELLO)
    assert len(server.bodies) == 1


def test_no_server_at_all():
    with serve_chat() as server:
        url = server.url
    with pytest.raises(LLMError, match="Connection"):
        OpenAILLM(url, "m", retries=0).complete(HELLO)


def test_something_else_than_a_completion(server):
    server.faults.append(send_something_else)
    with pytest.raises(LLMError, match="/v1"):
        open_llm(server).complete(HELLO)


def test_the_key_comes_from_the_environment_and_is_not_logged(server, monkeypatch, caplog):
    monkeypatch.setenv("SECRET_KEY", "hush-hush")
    llm = open_llm(server, key_variable="SECRET_KEY")
    server.faults.append(refuse(400))
    with caplog.at_level(logging.DEBUG), pytest.raises(LLMError) as refusal:
        llm.complete(HELLO)
    assert server.keys == ["Bearer hush-hush"]
    assert "hush-hush" not in caplog.text + str(refusal.value) + repr(llm) + str(vars(llm))


def test_a_missing_key_is_named(server, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with pytest.raises(LLMError, match="SECRET_KEY"):
        open_llm(server, key_variable="SECRET_KEY")


def test_one_failure_does_not_lose_the_others(server):
    prompts = [[{"role": "user", "content": str(i)}] for i in range(12)]
    server.reply = lambda body: "re: " + body["messages"][0]["content"]
    server.faults.append(refuse(400))
    answers = ask_all(open_llm(server), prompts, workers=4)
    failed = [i for i, answer in enumerate(answers) if isinstance(answer, LLMError)]
    assert len(failed) == 1
    for i, answer in enumerate(answers):
        assert i in failed or answer.text == f"re: {i}"


def test_answers_are_asked_for_side_by_side(server):
    server.faults.extend([lambda h, b: (time.sleep(0.5), say("slow")(h, b))] * 8)
    start = time.perf_counter()
    answers = ask_all(open_llm(server), [HELLO] * 8, workers=8)
    assert [answer.text for answer in answers] == ["slow"] * 8
    assert time.perf_counter() - start < 2
