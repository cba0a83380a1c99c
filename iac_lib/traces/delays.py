"""How long users take between two turns: laws of the delay from arrival to arrival.

Knows nothing of when conversations start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.original import original_times


@dataclass(frozen=True)
class LogNormalDelays:
    """Long-tailed delays, the same for every user (IAC, A.4 and B.6).

    Parameters
    ----------
    mean, variance : float
        Of the logarithm of the delay in seconds.
    """

    mean: float = 4.6
    variance: float = 1.0

    def __post_init__(self) -> None:
        if not self.variance >= 0:
            raise ValueError(f"variance must not be negative, got {self.variance}")

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n]: delays in seconds."""
        return rng.lognormal(self.mean, np.sqrt(self.variance), n)


@dataclass(frozen=True)
class ConstantDelays:
    """Every follow-up after the same delay (IAC, B.7, Table 7)."""

    seconds: float = 100.0

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise ValueError(f"seconds must not be negative, got {self.seconds}")

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n]: delays in seconds."""
        return np.full(n, float(self.seconds))


@dataclass(frozen=True)
class OriginalDelays:
    """The delays in the data: differences of ``start_s`` within a conversation (IAC, A.4)."""

    def read(self, conversations: Conversations) -> np.ndarray:
        """Return float64[f]: delays in seconds before each follow-up, in data-set order.

        Raises
        ------
        TraceError
            If a time of a conversation with follow-ups is missing, or times run backwards.
        """
        follow = conversations.turns["turn"].to_numpy() > 1
        followed = np.append(follow[1:], False)
        times = original_times(conversations, follow | followed)
        delays = np.diff(times, prepend=0.0)
        backwards = np.flatnonzero(follow & (delays < 0))
        if len(backwards):
            row = int(backwards[0])
            problem = "is earlier than the turn before"
            value = float(times[row])
            raise TraceError(conversations.name, problem, row=row, column="start_s", value=value)
        return delays[follow]


Delays = LogNormalDelays | ConstantDelays | OriginalDelays
