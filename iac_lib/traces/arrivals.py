"""Arrival times: from conversations to a trace.

Two independent choices make a trace: when conversations start and how long users take
between turns. Each has its own random stream, so changing one leaves the other as it
was. Knows the token counts and original times of the turns, nothing of what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.schema import Trace

DROPPED = "turns beyond the context limit"


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


Starts = Poisson | OnOff | Pareto | Diurnal | OriginalTimes
Delays = LogNormalDelays | ConstantDelays | OriginalDelays


def original_times(conversations: Conversations, needed: np.ndarray) -> np.ndarray:
    """Return ``start_s`` (float64[n], seconds); raise for a missing one among `needed`."""
    name, turns = conversations.name, conversations.turns
    if "start_s" not in turns:
        raise TraceError(name, "has no original times (column start_s); choose another pattern")
    times = turns["start_s"].to_numpy(np.float64)
    missing = np.flatnonzero(needed & ~np.isfinite(times))
    if len(missing):
        row = int(missing[0])
        problem = "original time is missing"
        raise TraceError(name, problem, row=row, column="start_s", value=float(times[row]))
    return times


def context_tokens(conversations: Conversations) -> np.ndarray:
    """Return int64[n]: tokens of the whole conversation up to and including each answer."""
    turns = conversations.turns
    added = turns["user_tokens"].astype(np.int64) + turns["output_tokens"].astype(np.int64)
    return added.groupby(conversations.codes).cumsum().to_numpy()


def limit_context(conversations: Conversations, max_context_tokens: int) -> Conversations:
    """Drop every turn whose input and output exceed a model's context, and all after it.

    The context never shrinks, so what is left of a conversation are its first turns,
    perhaps none. How many turns were dropped is added to ``skipped``.

    Parameters
    ----------
    conversations : Conversations
    max_context_tokens : int
        Longest input plus output that is served.
    """
    keep = context_tokens(conversations) <= max_context_tokens
    dropped = int(len(keep) - keep.sum())
    if not dropped:
        return conversations
    skipped = dict(conversations.skipped)
    skipped[DROPPED] = skipped.get(DROPPED, 0) + dropped
    return replace(conversations, turns=conversations.turns[keep], skipped=skipped)


def schedule(
    conversations: Conversations,
    starts: Starts,
    delays: Delays,
    seed: int = 0,
    *,
    max_context_tokens: int | None = None,
) -> Trace:
    """Give every turn an arrival time and its whole input.

    The delay of a turn is its arrival minus the arrival of the turn before; the input of
    turn t is everything said before it plus its query (IAC, section 2 and A.4).

    Parameters
    ----------
    conversations : Conversations
        Started in data-set order, except under `OriginalTimes`.
    starts : Poisson, OnOff, Pareto, Diurnal or OriginalTimes
    delays : LogNormalDelays, ConstantDelays or OriginalDelays
    seed : int
        Same seed, same trace. Starts and delays draw from separate streams.
    max_context_tokens : int or None
        Turns whose input plus output exceed it are dropped with all later turns of their
        conversation; call `limit_context` first to see how many. None keeps everything.

    Returns
    -------
    Trace
        Sorted by arrival; simultaneous requests stay in data-set order. ``request_id``
        is the row of the turn in (the limited) `conversations`.

    Raises
    ------
    TraceError
        If original times are asked for and missing.
    """
    if max_context_tokens is not None:
        conversations = limit_context(conversations, max_context_tokens)
    turns = conversations.turns
    first = turns["turn"].to_numpy() == 1
    count = int(first.sum())
    start_rng, delay_rng = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    step = np.empty(len(turns))
    step[first] = (
        starts.read(conversations)
        if isinstance(starts, OriginalTimes)
        else starts.sample(count, start_rng)
    )
    step[~first] = (
        delays.read(conversations)
        if isinstance(delays, OriginalDelays)
        else delays.sample(len(turns) - count, delay_rng)
    )
    codes = np.cumsum(first) - 1
    arrival = pd.Series(step).groupby(codes).cumsum().to_numpy()
    order = np.argsort(arrival, kind="stable")
    context = context_tokens(conversations)
    requests = turns.assign(
        request_id=np.arange(len(turns), dtype=np.int64),
        arrival_s=arrival,
        input_tokens=context - turns["output_tokens"].to_numpy(np.int64),
    ).iloc[order]
    return Trace(conversations.name, requests)
