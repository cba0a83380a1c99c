from __future__ import annotations

import threading

import pyarrow.parquet as pq
import pytest

from iac_lib.llm.answer import Answer, LLMError, NotAChoice
from iac_lib.llm.recorded import RecordedLLM, compact_answers, read_answers
from iac_lib.llm.usage import Metered, Usage


class Echo:
    """Answers with the last message and counts how often it was asked."""

    name = "echo"

    def __init__(self):
        self.asked = 0

    def complete(self, messages, *, max_tokens=512, choices=None, seed=0):
        self.asked += 1
        text = messages[-1]["content"]
        probabilities = {name: 1 / len(choices) for name in choices} if choices else None
        answer = Answer(text, len(text), 2, 0.5, self.name, probabilities)
        if choices and text not in choices:
            raise NotAChoice(answer)
        return answer


def ask(llm, text="secret question", **options):
    return llm.complete([{"role": "user", "content": text}], **options)


def test_a_kept_answer_is_not_asked_for_again(tmp_path):
    echo = Echo()
    first = ask(RecordedLLM(tmp_path / "a.jsonl", echo), choices=("secret question", "b"))
    again = ask(RecordedLLM(tmp_path / "a.jsonl", echo), choices=("secret question", "b"))
    assert echo.asked == 1 and again == first


@pytest.mark.parametrize(
    "other", [{"max_tokens": 9}, {"seed": 1}, {"choices": ("secret question",)}, {"text": "x"}]
)
def test_another_question_is_asked(tmp_path, other):
    echo = Echo()
    llm = RecordedLLM(tmp_path / "a.jsonl", echo)
    ask(llm)
    ask(llm, **other)
    assert echo.asked == 2


def test_another_model_is_asked(tmp_path):
    ask(RecordedLLM(tmp_path / "a.jsonl", Echo()))
    other = Echo()
    other.name = "other"
    ask(RecordedLLM(tmp_path / "a.jsonl", other))
    assert other.asked == 1


def test_without_a_model_a_missing_answer_says_what_to_do(tmp_path):
    ask(RecordedLLM(tmp_path / "a.jsonl", Echo()))
    replay = RecordedLLM(tmp_path / "a.jsonl", name="echo")
    assert ask(replay).text == "secret question"
    with pytest.raises(LLMError, match="inner="):
        ask(replay, "another")


def test_a_missing_store_is_refused(tmp_path):
    with pytest.raises(LLMError, match="no recorded answers"):
        RecordedLLM(tmp_path / "a.jsonl", name="echo")
    with pytest.raises(ValueError, match="name="):
        RecordedLLM(tmp_path / "a.jsonl")


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_cut_last_line_loses_that_answer_alone(tmp_path, cut):
    path = tmp_path / "a.jsonl"
    llm = RecordedLLM(path, Echo())
    for text in "abc":
        ask(llm, text)
    path.write_bytes(path.read_bytes()[:-cut])
    echo = Echo()
    llm = RecordedLLM(path, echo)
    assert [ask(llm, text).text for text in "abcd"] == list("abcd")
    assert echo.asked == 2
    assert len(read_answers(path)) == 4


def test_damage_in_the_middle_is_named(tmp_path):
    path = tmp_path / "a.jsonl"
    llm = RecordedLLM(path, Echo())
    ask(llm, "a"), ask(llm, "b")
    path.write_text("{" + path.read_text())
    with pytest.raises(LLMError, match="line 1 is damaged"):
        RecordedLLM(path, Echo())


def test_an_answer_that_is_no_choice_is_kept_as_such(tmp_path):
    echo = Echo()
    for _ in range(2):
        with pytest.raises(NotAChoice):
            ask(RecordedLLM(tmp_path / "a.jsonl", echo), choices=("x",))
    assert echo.asked == 1


def test_one_question_asked_twice_at_a_time_has_one_answer(tmp_path):
    barrier = threading.Barrier(2, timeout=5)

    class Moody(Echo):
        def complete(self, messages, **options):
            barrier.wait()
            self.asked += 1
            return Answer(str(self.asked), 1, 1, 0.0, self.name)

    llm = RecordedLLM(tmp_path / "a.jsonl", Moody())
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(llm).text)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers[0] == answers[1] == ask(RecordedLLM(tmp_path / "a.jsonl", name="echo")).text


def test_compacted_answers_replay_without_the_questions(tmp_path):
    llm = RecordedLLM(tmp_path / "a.jsonl", Echo())
    plain, chosen = ask(llm, "the one"), ask(llm, "b", choices=("b", "c"))
    target = tmp_path / "a.parquet"
    assert compact_answers(tmp_path / "a.jsonl", target) == 2
    replay = RecordedLLM(target, name="echo")
    assert ask(replay, "the one") == plain and ask(replay, "b", choices=("b", "c")) == chosen
    assert pq.read_schema(target).names == [
        "key", "text", "prompt_tokens", "output_tokens", "seconds", "model", "probabilities",
    ]  # fmt: skip
    with pytest.raises(LLMError, match="no new answers"):
        RecordedLLM(target, Echo())


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(LLMError, match="no recorded answers"):
        RecordedLLM(tmp_path / "a.parquet", name="echo")
    (tmp_path / "a.jsonl").write_text('{"key": "k", "words": "x"}\n')
    with pytest.raises(LLMError, match="no recorded answers"):
        RecordedLLM(tmp_path / "a.jsonl", name="echo")


def test_usage_counts_refused_answers_too():
    llm = Metered(Echo())
    ask(llm, "abcd")
    with pytest.raises(NotAChoice):
        ask(llm, "abcdef", choices=("x",))
    assert llm.usage == Usage(2, 10, 4, 1.0)
    assert llm.usage.cost(prompt_price=100, output_price=1000) == pytest.approx(0.005)
