"""The local back end on real weights, and what it says where they are missing."""

from __future__ import annotations

import math

import pytest

from iac_lib.files import write_atomically
from iac_lib.llm.answer import LLMError
from iac_lib.llm.local import LocalLLM, open_local

CHOICES = ("code", "code_debugging", "food")


def chat(question, system="You sort messages. Answer code, code_debugging or food."):
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def test_a_missing_file_names_the_command(tmp_path):
    with pytest.raises(LLMError, match="make models"):
        LocalLLM(tmp_path / "none.gguf")


@pytest.fixture(scope="module")
def small():
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: make models")
    try:
        return open_local("smollm2-135m", threads=1, context=1024)
    except LLMError as missing:
        pytest.skip(str(missing))


@pytest.mark.models
def test_a_broken_file_names_the_command(tmp_path, small):
    with write_atomically(tmp_path / "broken.gguf") as temporary:
        temporary.write_bytes(b"GGUF" * 1000)
    with pytest.raises(LLMError, match="make models"):
        LocalLLM(tmp_path / "broken.gguf")


@pytest.mark.models
def test_choices_have_exact_probabilities(small):
    answer = small.complete(chat("What should I cook tonight?"), choices=CHOICES)
    assert set(answer.probabilities) == set(CHOICES)
    assert sum(answer.probabilities.values()) == pytest.approx(1, abs=1e-4)
    assert answer.text == max(answer.probabilities, key=answer.probabilities.get)
    # Where two choices part from the third at the first token, their ratio does not change
    # when one that shares that token goes.
    fewer = small.complete(chat("What should I cook tonight?"), choices=CHOICES[1:])
    assert fewer.probabilities["food"] == pytest.approx(answer.probabilities["food"], abs=0.01)


@pytest.mark.models
def test_the_probability_is_that_of_free_decoding(small):
    question = chat("Say yes.", system="Answer yes or no.")
    free = small._predict(
        prompt=small._tokenise(small._render(question)), n_predict=1, n_probs=2000, temperature=1.0
    )
    top = free["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    logs = {entry["token"]: entry["logprob"] for entry in top}
    answer = small.complete(question, choices=("Yes", "No"))
    weights = {name: math.exp(logs[name]) for name in ("Yes", "No")}
    expected = weights["Yes"] / sum(weights.values())
    assert answer.probabilities["Yes"] == pytest.approx(expected, abs=0.01)


@pytest.mark.models
def test_what_two_requests_share_is_computed_once(small):
    system = "Sort the messages of users by what they want to have done. " * 12
    first = small.complete(chat("Fix my code!", system), choices=CHOICES)
    second = small.complete(chat("Cook!", system), choices=CHOICES)
    assert second.seconds < first.seconds / 2
    again = small.complete(chat("Fix my code!", system), choices=CHOICES)
    assert again.text == first.text
    assert again.probabilities == pytest.approx(first.probabilities, abs=0.02)


@pytest.mark.models
def test_free_text_is_bounded_and_repeats(small):
    first = small.complete(chat("Tell me a story.", "You tell stories."), max_tokens=12)
    assert first.text and first.output_tokens <= 12 and first.probabilities is None
    again = small.complete(chat("Tell me a story.", "You tell stories."), max_tokens=12)
    assert again.text == first.text


@pytest.mark.models
def test_what_does_not_fit_is_refused(small):
    with pytest.raises(LLMError, match="do not fit"):
        small.complete(chat("word " * 1100), max_tokens=10)


def test_a_model_that_was_not_fetched_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    with pytest.raises(LLMError, match="make models"):
        open_local("smollm2-135m")
