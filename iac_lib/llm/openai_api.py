"""A model behind a URL that speaks OpenAI's chat completions, such as vLLM's or SGLang's.

The paper's labeller, gpt-oss-120b, is served like this. Repetition after 429, 5xx, time-outs
and broken connections is the ``openai`` package's, with exponential back-off and Retry-After.
Knows nothing of what is asked.
"""

from __future__ import annotations

import math
import os
import re
import time

from iac_lib.llm.answer import Answer, LLMError, check_choice

# How each server is told to answer with one of the choices.
STRUCTURED = {
    "none": lambda choices: {},
    "vllm": lambda choices: {"structured_outputs": {"choice": list(choices)}},
    "vllm-guided": lambda choices: {"guided_choice": list(choices)},
    "sglang": lambda choices: {"regex": "(" + "|".join(map(escape_regex, choices)) + ")"},
}


class OpenAILLM:
    """A served model.

    Parameters
    ----------
    url : str
        Up to and including ``/v1``.
    model : str
        Name under which the server serves it.
    structured : str
        How the server takes choices: "vllm" (0.12 or newer), "vllm-guided" (older), "sglang",
        or "none", which sends nothing and only checks the answer.
    key_variable : str or None
        Environment variable that holds the key; None for a server without one.
    timeout_s : float
        For one attempt.
    retries : int
        Attempts after the first, at most.
    temperature : float
    logprobs : bool
        Whether to ask for the probability of the answer; some servers refuse to be asked.
    extra : dict or None
        More fields of the request, such as ``{"reasoning_effort": "low"}``.

    Raises
    ------
    LLMError
        If ``openai`` is not installed or the variable is not set.
    ValueError
        If there is no such `structured`.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        structured: str = "none",
        key_variable: str | None = None,
        timeout_s: float = 120.0,
        retries: int = 5,
        temperature: float = 0.0,
        logprobs: bool = True,
        extra: dict | None = None,
    ) -> None:
        if structured not in STRUCTURED:
            raise ValueError(f"structured must be one of {tuple(STRUCTURED)}, got {structured!r}")
        try:
            import openai
        except ImportError as missing:
            raise LLMError("openai is not installed; install it with: make models") from missing
        self.name = model
        self.structured = structured
        self.temperature = temperature
        self.logprobs = logprobs
        self.retries = retries
        self.extra = extra or {}
        self._failures = (openai.OpenAIError,)
        self._client = openai.OpenAI(
            base_url=url, api_key=read_key(key_variable), timeout=timeout_s, max_retries=retries
        )

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int = 512,
        choices: tuple[str, ...] | None = None,
        seed: int = 0,
    ) -> Answer:
        """Return the server's answer; see `LLM.complete`."""
        body = dict(self.extra)
        if choices is not None:
            body |= STRUCTURED[self.structured](choices)
            if self.logprobs:
                body["logprobs"] = True
        start = time.perf_counter()
        reply = self._request(messages, max_tokens, seed, body)
        answer = self._read(reply, time.perf_counter() - start)
        return check_choice(answer, choices)

    def _request(self, messages: list[dict[str, str]], max_tokens: int, seed: int, body: dict):
        # The package repeats requests that fail, but not those answered with broken JSON.
        for _ in range(self.retries + 1):
            try:
                return self._client.chat.completions.create(
                    model=self.name,
                    messages=messages,
                    max_tokens=max_tokens,
                    temperature=self.temperature,
                    seed=seed,
                    extra_body=body,
                )
            except self._failures as failure:
                raise LLMError(
                    f"{self.name} at {self._client.base_url} gave no answer: "
                    f"{type(failure).__name__}: {failure}"
                ) from failure
            except ValueError as broken:
                problem = broken
        raise LLMError(f"{self.name} at {self._client.base_url} sent broken JSON: {problem}")

    def _read(self, reply, seconds: float) -> Answer:
        choices, usage = getattr(reply, "choices", None), getattr(reply, "usage", None)
        if not choices:
            raise LLMError(
                f"what {self._client.base_url} sent is no chat completion; is the URL right up to "
                "/v1?"
            )
        text = (choices[0].message.content or "").strip()
        return Answer(
            text,
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
            seconds,
            self.name,
            read_probability(text, choices[0].logprobs),
        )


def read_key(variable: str | None) -> str:
    """Return the key that an environment variable holds, or a stand-in if none is needed."""
    if variable is None:
        return "none"
    if key := os.environ.get(variable):
        return key
    raise LLMError(f"the environment variable {variable} holds no key; set it")


def read_probability(text: str, logprobs) -> dict[str, float] | None:
    """Return the probability of the answer's tokens, None if the server gave none."""
    tokens = getattr(logprobs, "content", None)
    if not tokens:
        return None
    return {text: math.exp(min(0.0, sum(token.logprob for token in tokens)))}


def escape_regex(choice: str) -> str:
    """Return `choice` as a regular expression in the syntax that all engines share."""
    return re.sub(r"([\\.^$|?*+()\[\]{}])", r"\\\1", choice)
