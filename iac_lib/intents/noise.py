"""Labels made wrong on purpose, to see how much a policy depends on them (IAC, Fig. 8c)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace


def randomise_intents(trace: Trace, share: float, seed: int = 0) -> Trace:
    """Give a share of the requests a uniformly random intent.

    The random intent may happen to be the old one. For one seed, what is randomised at a
    smaller share is randomised to the same intents at a larger one, so that a sweep over
    shares differs only by what is added.

    Parameters
    ----------
    trace : Trace
        Its intent categories are the set drawn from.
    share : float
        Within 0 and 1; of n requests, round(share n) are chosen.
    seed : int

    Raises
    ------
    ValueError
        If the share is outside 0 and 1, or the trace has no intents.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be within 0 and 1, got {share}")
    intents = trace.intents
    if not intents:
        raise ValueError(f"{trace.name} has no intents to randomise")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(trace))[: round(share * len(trace))]
    drawn = rng.integers(len(intents), size=len(trace))
    codes = trace.column("intent").copy()
    codes[chosen] = drawn[chosen]
    return trace.assign(intent=pd.Categorical.from_codes(codes, categories=list(intents)))


def mislabel(
    workload: Callable[[int, float], tuple[Trace, Trace]], share: float
) -> Callable[[int, float], tuple[Trace, Trace]]:
    """Return `workload` with a share of the intents random, in history and replay alike.

    Random labels are learned from, too: a policy's statistics approach those of the turn.

    Parameters
    ----------
    workload : callable (seed, rate) -> (history, replay)
    share : float
        As in `randomise_intents`.
    """

    def mislabelled(seed: int, rate: float) -> tuple[Trace, Trace]:
        history, replay = workload(seed, rate)
        return randomise_intents(history, share, 2 * seed), randomise_intents(
            replay, share, 2 * seed + 1
        )

    return mislabelled
