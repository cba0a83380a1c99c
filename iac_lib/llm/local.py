"""A model file (GGUF) on this machine's CPU, through llama.cpp as ``xllamacpp`` builds it.

What a request has in common with the one before it (instructions, examples) is not computed
again. With choices, the answer is the most probable one and the probability of every choice
is exact: see `iac_lib.llm.trie`. Greedy otherwise, so that the seed plays no part.

The engine listens on 127.0.0.1 behind a key of its own, which is how it is asked for its
tokens. Knows nothing of what is asked.
"""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path
from threading import Lock
from urllib.request import Request, urlopen

from iac_lib.llm.answer import Answer, LLMError
from iac_lib.llm.trie import weigh_choices
from iac_lib.models.store import ModelCorrupt, ModelNotFound, find_model

# Added to the logits of the allowed tokens: all others are e^-100 as likely, the allowed
# ones as likely to each other as before.
ALLOWED_BIAS = 100.0
MARK = "\N{BLACK SQUARE}"


class LocalLLM:
    """A GGUF model in this process.

    Parameters
    ----------
    path : path
        The model file.
    threads : int
        Threads to compute with.
    context : int
        Tokens that a conversation and its answer may have together.

    Raises
    ------
    LLMError
        If the file or the engine is missing, or the file cannot be loaded.
    """

    def __init__(self, path: str | Path, threads: int = 1, context: int = 4096) -> None:
        path = Path(path)
        if not path.is_file():
            raise LLMError(f"there is no model file {path}; fetch it with: make models")
        self.name = path.stem
        self.context = context
        self._key = secrets.token_hex(16)
        self._server = start_engine(path, threads, context, self._key)
        self._lock = Lock()
        self._end = self._find_end()

    def complete(
        self,
        messages: list[dict[str, str]],
        *,
        max_tokens: int = 512,
        choices: tuple[str, ...] | None = None,
        seed: int = 0,
    ) -> Answer:
        """Return the most probable answer; see `LLM.complete`.

        Raises
        ------
        LLMError
            If conversation and answer do not fit into the context.
        """
        # One after the other: requests side by side would push each other's prefix out.
        with self._lock:
            start = time.perf_counter()
            prompt = self._tokenise(self._render(messages))
            room = max_tokens if choices is None else 64
            if len(prompt) + room > self.context:
                raise LLMError(
                    f"{len(prompt)} tokens of prompt and {room} of answer do not fit into a "
                    f"context of {self.context}; shorten the prompt or raise context="
                )
            if choices is None:
                text, tokens, probabilities = *self._decode(prompt, max_tokens, seed), None
            else:
                text, tokens, probabilities = self._choose(prompt, choices)
            seconds = time.perf_counter() - start
        return Answer(text, len(prompt), tokens, seconds, self.name, probabilities)

    def _decode(self, prompt: list[int], max_tokens: int, seed: int) -> tuple[str, int]:
        reply = self._predict(prompt=prompt, n_predict=max_tokens, temperature=0.0, seed=seed)
        return reply["choices"][0]["text"].strip(), reply["usage"]["completion_tokens"]

    def _choose(
        self, prompt: list[int], choices: tuple[str, ...]
    ) -> tuple[str, int, dict[str, float]]:
        tokens = [[*self._tokenise(choice), self._end] for choice in choices]

        def decide(prefix: tuple[int, ...], allowed: tuple[int, ...]) -> list[float]:
            reply = self._predict(
                prompt=[*prompt, *prefix],
                n_predict=1,
                temperature=1.0,
                samplers=["top_k"],
                top_k=len(allowed),
                n_probs=len(allowed),
                post_sampling_probs=True,
                logit_bias=[[token, ALLOWED_BIAS] for token in allowed],
            )
            top = reply["choices"][0]["logprobs"]["content"][0]["top_probs"]
            shares = {entry["id"]: entry["prob"] for entry in top}
            return [shares.get(token, 0.0) for token in allowed]

        weights = weigh_choices(tokens, decide)
        best = max(range(len(choices)), key=weights.__getitem__)
        return choices[best], len(tokens[best]), dict(zip(choices, weights, strict=True))

    def _predict(self, **request) -> dict:
        reply = self._server.handle_completions({**request, "cache_prompt": True})
        if "choices" not in reply:
            raise LLMError(f"{self.name}: llama.cpp answered {json.dumps(reply)[:300]}")
        return reply

    def _render(self, messages: list[dict[str, str]]) -> str:
        return self._post("/apply-template", {"messages": messages})["prompt"]

    def _tokenise(self, text: str) -> list[int]:
        return self._post("/tokenize", {"content": text, "parse_special": True})["tokens"]

    def _find_end(self) -> int:
        """Return the token that ends an answer in the model's chat format."""
        question = {"role": "user", "content": MARK}
        answered = self._render([question, {"role": "assistant", "content": MARK}, question])
        return self._tokenise(answered.split(MARK)[2])[0]

    def _post(self, path: str, body: dict) -> dict:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        address = self._server.listening_address
        request = Request(address + path, json.dumps(body).encode(), headers)
        with urlopen(request, timeout=60) as reply:
            return json.load(reply)


def start_engine(path: Path, threads: int, context: int, key: str):
    """Return a llama.cpp engine for one conversation at a time."""
    try:
        import xllamacpp
    except ImportError as missing:
        raise LLMError("xllamacpp is not installed; install it with: make models") from missing
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.hostnames = ["127.0.0.1"]
    parameters.api_keys = [key]
    parameters.verbosity = 1
    parameters.warmup = False
    # One conversation after the other needs no store of earlier ones.
    parameters.cache_ram_mib = 0
    # Repacked weights are no faster here and take as much memory again.
    parameters.no_extra_bufts = True
    try:
        return xllamacpp.Server(parameters)
    except Exception as broken:
        raise LLMError(
            f"llama.cpp cannot load {path} ({broken}); delete it and run: make models"
        ) from broken


def open_local(name: str, threads: int = 1, context: int = 4096) -> LocalLLM:
    """Return a model of the catalog, such as "qwen-coder-1.5b".

    Raises
    ------
    LLMError
        If it was not fetched, or is not what the catalog says.
    """
    try:
        return LocalLLM(find_model(name), threads, context)
    except (ModelNotFound, ModelCorrupt) as missing:
        raise LLMError(str(missing)) from missing
