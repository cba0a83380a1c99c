"""What discovery would take for more requests, from the tokens of a run on fewer.

Counts questions and tokens; knows no price list. Throughput and prices are the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from iac_lib.llm.usage import Usage

PER_REQUEST = ("summarise", "assign")
ONCE = ("generate", "review")


@dataclass(frozen=True)
class Rates:
    """What a served model is assumed to do and to cost.

    Parameters
    ----------
    prompt_tokens_per_s, output_tokens_per_s : float
        Of one GPU under full load.
    gpu_hour : float
        Price of an hour of one GPU.
    prompt_price, output_price : float
        Of a million tokens from a vendor, in the same currency.
    thinking_tokens : float
        Written by a reasoning model before each answer, beyond the answer.
    """

    prompt_tokens_per_s: float
    output_tokens_per_s: float
    gpu_hour: float
    prompt_price: float
    output_price: float
    thinking_tokens: float = 0.0


def extrapolate(
    usage: dict[str, Usage], requests: int, target: int, batch: int, rates: Rates
) -> pd.DataFrame:
    """Return what each step would take for `target` requests.

    Summaries and sorting grow with the requests; the first list and the review are one
    question each. Updates are asked at most once a minibatch and not at all once the list is
    full: the row is that upper bound, with the tokens of the question that made the first list
    unless the run asked for updates itself.

    Parameters
    ----------
    usage : dict of str to Usage
        `Discovery.usage_by_step` of a run.
    requests : int
        Requests in that run.
    target : int
        Requests to extrapolate to.
    batch : int
        Requests in a minibatch of the larger run.
    rates : Rates

    Returns
    -------
    DataFrame
        ``step, questions, prompt_tokens, output_tokens, gpu_hours, gpu_cost, vendor_cost``,
        the last row being the "total".
    """
    updates = usage["update"] if usage["update"].requests else usage["generate"]
    scales = {step: (usage[step], target / requests) for step in PER_REQUEST}
    scales |= {step: (usage[step], 1.0) for step in ONCE}
    scales["update (at most)"] = (updates, (target / batch - 1) / max(updates.requests, 1))
    table = pd.DataFrame(
        {
            "step": step,
            "questions": scale * used.requests,
            "prompt_tokens": scale * used.prompt_tokens,
            "output_tokens": scale * (used.output_tokens + rates.thinking_tokens * used.requests),
        }
        for step, (used, scale) in scales.items()
    )
    table = pd.concat([table, table.sum(numeric_only=True).to_frame().T.assign(step="total")])
    prompt, output = table["prompt_tokens"], table["output_tokens"]
    seconds = prompt / rates.prompt_tokens_per_s + output / rates.output_tokens_per_s
    return table.assign(
        gpu_hours=seconds / 3600,
        gpu_cost=seconds / 3600 * rates.gpu_hour,
        vendor_cost=(prompt * rates.prompt_price + output * rates.output_price) / 1e6,
    ).reset_index(drop=True)


def share_repeated(questions: Sequence[str]) -> float:
    """Return the share of characters that an unlimited prefix cache has seen before.

    Parameters
    ----------
    questions : sequence of str
        In any order.
    """
    ordered = sorted(questions)
    # Neighbours in alphabetical order share the longest prefix.
    repeated = sum(count_shared(one, other) for one, other in pairwise(ordered))
    return repeated / sum(map(len, ordered))


def count_shared(one: str, other: str) -> int:
    """Return the length of the longest prefix that two strings share."""
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return min(len(one), len(other))
