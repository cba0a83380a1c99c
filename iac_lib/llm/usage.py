"""What asking has cost so far: requests, tokens, seconds, money.

Knows nothing of retries inside a back end, only of the answers that came out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from iac_lib.llm.answer import LLM, Answer, NotAChoice


@dataclass(frozen=True)
class Usage:
    """A sum over answers.

    Parameters
    ----------
    requests, prompt_tokens, output_tokens : int
    seconds : float
        Summed over requests; requests that ran side by side count one by one.
    """

    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def add(self, answer: Answer) -> Usage:
        """Return the usage with one more answer."""
        return Usage(
            self.requests + 1,
            self.prompt_tokens + answer.prompt_tokens,
            self.output_tokens + answer.output_tokens,
            self.seconds + answer.seconds,
        )

    def cost(self, prompt_price: float, output_price: float) -> float:
        """Return the cost at prices per million tokens, in the currency of the prices."""
        return (self.prompt_tokens * prompt_price + self.output_tokens * output_price) / 1e6


class Metered:
    """A model that adds up what its answers took.

    Parameters
    ----------
    inner : LLM
        The model that answers.
    """

    def __init__(self, inner: LLM) -> None:
        self.inner = inner
        self.name = inner.name
        self.usage = Usage()
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
        try:
            answer = self.inner.complete(
                messages, max_tokens=max_tokens, choices=choices, seed=seed
            )
        except NotAChoice as refusal:
            self._count(refusal.answer)
            raise
        self._count(answer)
        return answer

    def _count(self, answer: Answer) -> None:
        with self._lock:
            self.usage = self.usage.add(answer)
