"""Ask many things at a time, in order, so that one failure does not lose the others' answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from iac_lib.llm.answer import LLM, Answer, LLMError, Waiting
from iac_lib.progress import progress

Item = TypeVar("Item")
Result = TypeVar("Result")


def ask_all(
    llm: LLM,
    prompts: Sequence[list[dict[str, str]]],
    workers: int = 8,
    *,
    max_tokens: int = 512,
    choices: tuple[str, ...] | None = None,
    seed: int = 0,
    desc: str = "asking",
) -> list[Answer | LLMError]:
    """Return the answer to each conversation, or the error in its place.

    Parameters
    ----------
    llm : LLM
    prompts : sequence of list of dict
        Conversations; see `LLM.complete`.
    workers : int
        Requests under way at a time.
    max_tokens, choices, seed
        As in `LLM.complete`, for all of them.
    desc : str
        What the progress bar says.
    """
    return run_all(
        lambda messages: llm.complete(messages, max_tokens=max_tokens, choices=choices, seed=seed),
        prompts,
        workers,
        desc,
    )


def run_all(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int, desc: str
) -> list[Result | LLMError]:
    """Return `function` of each item, or the `LLMError` that it raised, in order.

    Any other error, and an interruption, ends the whole: what has not begun does not begin.
    Only `Waiting` is raised at the end, so that all questions of a step go into one batch.

    Parameters
    ----------
    function : callable
        Called from several threads.
    items : sequence
    workers : int
        Calls under way at a time, at least 1.
    desc : str
        What the progress bar says.
    """

    def attempt(item: Item) -> Result | LLMError | Waiting:
        try:
            return function(item)
        except (LLMError, Waiting) as error:
            return error

    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        found = list(progress(pool.map(attempt, items), desc, total=len(items)))
    finally:
        pool.shutdown(cancel_futures=True)
    if waiting := [each for each in found if isinstance(each, Waiting)]:
        raise waiting[0]
    return found
