"""Eviction policies, one per file; `Policy` says what one is."""

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

__all__ = [
    "GDSF",
    "IAC",
    "LFU",
    "LPC",
    "LRU",
    "MIN",
    "SLRU",
    "TB",
    "TBS",
    "TLRU",
    "WA",
    "FullHorizon",
    "Policy",
]
