"""What was asked and what was answered, kept in memory for a reader.

Knows no prompt and no back end.
"""

from __future__ import annotations

from threading import Lock

from iac_lib.llm.answer import LLM, Answer


class Transcript:
    """A model whose conversations can be looked up.

    Parameters
    ----------
    inner : LLM
        The model that answers.
    """

    def __init__(self, inner: LLM) -> None:
        self.inner = inner
        self.name = inner.name
        self._answers: dict[str, str] = {}
        self._lock = Lock()

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int = 512,
        choices: tuple[str, ...] | None = None,
        seed: int = 0,
    ) -> Answer:
        """Return the inner model's answer; see `LLM.complete`."""
        answer = self.inner.complete(messages, max_tokens=max_tokens, choices=choices, seed=seed)
        with self._lock:
            self._answers["\n\n".join(each["content"] for each in messages)] = answer.text
        return answer

    @property
    def questions(self) -> list[str]:
        """All different questions with everything said before them, in alphabetical order."""
        return sorted(self._answers)

    def find(self, words: str) -> tuple[str, str]:
        """Return the first of `questions` that contains `words`, and its answer.

        Raises
        ------
        LookupError
            If no question contains them.
        """
        for question in self.questions:
            if words in question:
                return question, self._answers[question]
        raise LookupError(f"none of {len(self._answers)} questions contains {words!r}")
