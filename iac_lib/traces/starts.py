"""When conversations start: arrival patterns, each a law of ascending times.

Knows nothing of what is said in a conversation, nor of how long users take to answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.original import original_times


def require_positive(**values: float) -> None:
    """Raise `ValueError` for the first of `values` that is not above 0."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be above 0, got {value}")


@dataclass(frozen=True)
class Poisson:
    """Starts of a Poisson process, the paper's default (IAC, A.4).

    Parameters
    ----------
    rate_per_s : float
        New conversations per second.
    """

    rate_per_s: float = 5.0

    def __post_init__(self) -> None:
        require_positive(rate_per_s=self.rate_per_s)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n]: ascending start times in seconds."""
        return np.cumsum(rng.exponential(1 / self.rate_per_s, n))


@dataclass(frozen=True)
class OnOff:
    """Poisson bursts of fixed length between silences of fixed length, ON first.

    The paper names the pattern (IAC, B.7), not its lengths; fixed ones are ours.

    Parameters
    ----------
    rate_per_s : float
        Mean over ON and OFF; within a burst it is higher by (on_s + off_s) / on_s.
    on_s, off_s : float
        Lengths in seconds.
    """

    rate_per_s: float = 5.0
    on_s: float = 60.0
    off_s: float = 60.0

    def __post_init__(self) -> None:
        require_positive(rate_per_s=self.rate_per_s, on_s=self.on_s, off_s=self.off_s)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n]: ascending start times in seconds."""
        burst_rate = self.rate_per_s * (self.on_s + self.off_s) / self.on_s
        on_time = np.cumsum(rng.exponential(1 / burst_rate, n))
        return on_time + np.floor(on_time / self.on_s) * self.off_s


@dataclass(frozen=True)
class Pareto:
    """Independent gaps with a power-law tail: long silences, dense bursts (IAC, B.7).

    Gaps are Lomax (Pareto II, from 0 upwards); the paper gives no parameters, so the
    form and the default shape are ours.

    Parameters
    ----------
    rate_per_s : float
        Inverse of the mean gap. Below shape 2 the variance is infinite and the rate of
        a finite trace strays far from it.
    shape : float
        Tail exponent, above 1 (the mean must exist).
    """

    rate_per_s: float = 5.0
    shape: float = 1.5

    def __post_init__(self) -> None:
        require_positive(rate_per_s=self.rate_per_s)
        if not self.shape > 1:
            raise ValueError(f"shape must be above 1, or gaps have no mean; got {self.shape}")

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n]: ascending start times in seconds."""
        return np.cumsum(rng.pareto(self.shape, n) * (self.shape - 1) / self.rate_per_s)


@dataclass(frozen=True)
class Diurnal:
    """A Poisson process whose rate follows a sine (IAC, B.7; the form is ours).

    Parameters
    ----------
    rate_per_s : float
        Mean over a period.
    amplitude : float
        Relative swing, 0 (Poisson) to 1 (silent at the trough).
    period_s : float
        Length of a day; shorten it to see several in a short trace.
    """

    rate_per_s: float = 5.0
    amplitude: float = 0.8
    period_s: float = 86_400.0

    def __post_init__(self) -> None:
        require_positive(rate_per_s=self.rate_per_s, period_s=self.period_s)
        if not 0 <= self.amplitude <= 1:
            raise ValueError(f"amplitude must be within 0 and 1, got {self.amplitude}")

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n]: ascending start times in seconds, by thinning."""
        peak = 1 + self.amplitude
        kept, have, now = [np.empty(0)], 0, 0.0
        while have < n:
            times = now + np.cumsum(rng.exponential(1 / (self.rate_per_s * peak), n))
            level = 1 + self.amplitude * np.sin(2 * np.pi * times / self.period_s)
            kept.append(times[rng.random(n) * peak < level])
            have, now = have + len(kept[-1]), times[-1]
        return np.concatenate(kept)[:n]


@dataclass(frozen=True)
class OriginalTimes:
    """The starts in the data (``start_s`` of every first turn), counted from the earliest."""

    def read(self, conversations: Conversations) -> np.ndarray:
        """Return float64[c]: start times in seconds, in data-set order.

        Raises
        ------
        TraceError
            If a first turn has no time.
        """
        first = conversations.turns["turn"].to_numpy() == 1
        starts = original_times(conversations, first)[first]
        return starts - starts.min() if len(starts) else starts


Starts = Poisson | OnOff | Pareto | Diurnal | OriginalTimes
