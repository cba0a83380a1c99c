"""A transcript gives the same answers and remembers what was asked."""

from __future__ import annotations

import pytest

from iac_lib.llm.answer import Answer
from iac_lib.llm.recorded import RecordedLLM, append_answer, hash_question
from iac_lib.llm.transcript import Transcript


@pytest.fixture
def llm(tmp_path):
    """A model whose answers lie in a file: two questions, a's about pears."""
    path = tmp_path / "answers.jsonl"
    for question, answer in (("b: apples?", "red"), ("a: pears?", "green")):
        key = hash_question("m", [{"role": "user", "content": question}], 512, None, 0)
        append_answer(path, key, Answer(answer, 3, 1, 0.0, "m"))
    return Transcript(RecordedLLM(path, name="m"))


def ask(llm, question):
    return llm.complete([{"role": "user", "content": question}]).text


def test_questions_are_found_by_their_words_in_alphabetical_order(llm):
    assert (ask(llm, "b: apples?"), ask(llm, "a: pears?")) == ("red", "green")
    assert llm.name == "m"
    assert llm.questions == ["a: pears?", "b: apples?"]
    assert llm.find("apples") == ("b: apples?", "red")
    assert llm.find("?") == ("a: pears?", "green")


def test_words_that_no_question_contains_are_refused(llm):
    ask(llm, "b: apples?")
    with pytest.raises(LookupError, match="none of 1 questions contains 'plums'"):
        llm.find("plums")
