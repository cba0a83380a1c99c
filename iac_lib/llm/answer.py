"""What every language model here can do: answer a conversation, perhaps with one of given choices.

Knows no prompt and no back end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Answer:
    """One answer and what it took.

    Parameters
    ----------
    text : str
    prompt_tokens, output_tokens : int
    seconds : float
        Wall-clock time of the request that was answered.
    model : str
    probabilities : dict or None
        Of the choices whose probability the back end knows. It sums to one where the back
        end knows them all.
    """

    text: str
    prompt_tokens: int
    output_tokens: int
    seconds: float
    model: str
    probabilities: dict[str, float] | None = None


class LLM(Protocol):
    """Anything that can be asked.

    ``name`` distinguishes its answers from another model's where answers are kept.
    """

    name: str

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int = 512,
        choices: tuple[str, ...] | None = None,
        seed: int = 0,
    ) -> Answer:
        """Return the answer to a conversation.

        Parameters
        ----------
        messages : list of dict
            Each with ``role`` ("system", "user" or "assistant") and ``content``.
        max_tokens : int
            Length at which the answer is cut.
        choices : tuple of str or None
            If given, the answer is one of these.
        seed : int

        Raises
        ------
        NotAChoice
            If the model answered something else than a choice.
        LLMError
            If there is no answer.
        """
        ...


class LLMError(RuntimeError):
    """A request that got no usable answer."""


class NotAChoice(LLMError):
    """An answer that is none of the choices.

    Parameters
    ----------
    answer : Answer
        What came instead; its tokens are spent all the same.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.model} answered {answer.text[:80]!r}, which is no choice")
        self.answer = answer


class Waiting(RuntimeError):
    """An answer that comes later, in a batch: the run ends here and is repeated then."""


def check_choice(answer: Answer, choices: tuple[str, ...] | None) -> Answer:
    """Return `answer`, or raise `NotAChoice` if it is none of the choices it had."""
    if choices is not None and answer.text not in choices:
        raise NotAChoice(answer)
    return answer
