"""What an eviction policy is: one pure function that ranks cache nodes.

A policy is a small frozen dataclass. Its ``priority`` is plain Python that Numba can
compile, so the simulator runs it at machine speed while a serving engine calls the
very same function on its own nodes. The lowest priority is evicted first.

A node, in the simulator or in an engine, has these attributes:

==================  ==========================================================
``created_s``       when the node's tokens were cached (seconds)
``last_access_s``   when a request last reached the node
``hits``            requests that used the node, its first one included
``tokens``          tokens the node holds
``depth_tokens``    tokens from the root to the node's end
``turn``            turn of the request that created it (1-based)
``intent``          intent code of that request, -1 = unknown
``request_type``    request-type code of that request, -1 = unknown
``context_tokens``  total length of the latest request through the node
``score``           ``score_requests`` value of the latest request through it
``inflation``       GDSF's clock L when the node was last used
``next_use_s``      next arrival that needs the node (oracles only; inf = never)
==================  ==========================================================

Compiled, a table is read without a check of its bounds: clamp the turn, as in
``min(node.turn, table.shape[1] - 1)``. Intent and request type may be -1, which is a table's
last row.

A policy knows nothing of how a cache stores nodes. ``index`` tells the cache how the
order changes with time, so that it can find the lowest without looking at every node:

* ``static``: the priority is fixed until the node is used again;
* ``expiring``: it changes once, at ``expires_s``;
* ``grouped``: among nodes of one ``group`` the least recently used is the lowest;
* ``scan``: anything else; every leaf is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

    from iac_lib.traces.schema import Trace


class NoParams(NamedTuple):
    """Parameters of a policy that has none (a compiled tuple must not be empty)."""

    unused: float = 0.0


@dataclass(frozen=True, eq=False)
class Policy:
    """Base of all policies; see the module docstring for the contract."""

    index: ClassVar[str] = "static"
    needs_future: ClassVar[bool] = False

    def fit(self, history: Trace) -> Self:
        """Return the policy with its parameters learned from `history`."""
        return self

    def candidates(self) -> tuple[Policy, ...]:
        """Return the settings among which the best is reported (usually just this one)."""
        return (self,)

    def check(self, trace: Trace) -> None:
        """Raise `ValueError` if what was learned does not fit `trace`."""

    def params(self) -> Any:
        """Return the named tuple of numbers and arrays that ``priority`` reads."""
        return NoParams()

    def score_requests(self, trace: Trace) -> np.ndarray:
        """Return float64[n], the policy's own per-request score (zeros if it has none)."""
        return np.zeros(len(trace))

    def count_groups(self) -> int:
        """Return how many values ``group`` can take."""
        return 1

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        """Return the node's rank at time `now`; tuples compare left to right, lowest goes."""
        raise NotImplementedError

    @staticmethod
    def expires_s(node: Any, p: Any) -> float:
        """Return when an ``expiring`` policy's priority of `node` changes."""
        return math.inf

    @staticmethod
    def group(node: Any, p: Any) -> int:
        """Return the group of `node` under a ``grouped`` policy."""
        return 0
