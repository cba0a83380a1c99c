"""Which policies stand in which figure, unfitted, by the names they have everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from iac_lib.intents.taxonomy import group_codes
from iac_lib.policies.full_horizon import FullHorizon
from iac_lib.policies.gdsf import GDSF
from iac_lib.policies.iac import IAC
from iac_lib.policies.lfu import LFU
from iac_lib.policies.lpc import LPC
from iac_lib.policies.lru import LRU, SLRU
from iac_lib.policies.oracle import MIN, TB, TBS
from iac_lib.policies.policy import Policy
from iac_lib.policies.tlru import TLRU
from iac_lib.policies.wa import WA

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace

NO_INTENT = IAC(use_intent=False, name="iac-no-intent")
SHORT = {"RY": "recency", "RE": "reuse", "S": "size"}


def online_policies(labelled: bool = True) -> list[Policy]:
    """Return every policy a server could run; IAC with intents only if there are labels."""
    rivals = [LRU(), LFU(), SLRU(), GDSF(cost="best"), TLRU(), WA(), LPC(), FullHorizon()]
    return [*rivals, NO_INTENT, IAC()] if labelled else [*rivals, NO_INTENT]


def learned_lpc(scores: np.ndarray | Callable[[Trace], np.ndarray]) -> LPC:
    """Return LPC on a learned predictor's scores: float64[n], or the function that gives them."""
    return LPC(scores=scores, name="lpc")


def oracles() -> list[Policy]:
    """Return the policies that know the future, thresholds swept."""
    return [TB(), TBS(), MIN()]


def ablations() -> list[Policy]:
    """Return IAC with fewer signals, another order, and without intent (Fig. 8a)."""
    orders = [("RY", "RE"), ("RE", "RY"), ("RY",), ("RE",), ("S",)]
    variants = [
        IAC(signals=tuple(SHORT[s] for s in order), name=f"iac {','.join(order)}")
        for order in orders
    ]
    return [IAC(), *variants, NO_INTENT]


def window_estimators() -> list[Policy]:
    """Return IAC with each estimator of the reuse window (Fig. 9)."""
    return [IAC(), IAC(window="mean", name="iac mean"), IAC(window="mode", name="iac mode")]


def granularities() -> list[Policy]:
    """Return IAC with 30, 20 and 10 intents (Fig. 8b)."""
    merged = [IAC(groups=group_codes(k), name=f"iac {k} classes") for k in (20, 10)]
    return [IAC(name="iac 30 classes"), *merged]
