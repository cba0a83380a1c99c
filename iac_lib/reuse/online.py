"""Reuse statistics of the most recent conversations, kept up to date request by request.

The deployed form of `fit_statistics`: it sees requests as they are served and never looks
ahead. Knows ids, turns, intents and times; nothing of caches.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from iac_lib.reuse.statistics import MAX_TURN, MIN_DELAY_S, TIMEOUT_S, ReuseStatistics

# Log delays are summed as integers, so that what leaves the window leaves no rounding error.
UNIT = 2.0**36


@dataclass(slots=True)
class Record:
    """One conversation since its last long silence."""

    last_s: float
    intent: int
    turns: list[int]
    log_delays: list[float] = field(default_factory=list)


class OnlineStatistics:
    """Statistics over the last completed conversations (IAC, 4.2 and B.3).

    A conversation completes when it had no follow-up for the timeout; what comes later
    under the same id is a new one. On completion it takes its most recent intent.
    Observing costs O(1) amortised; nothing is refitted.

    Parameters
    ----------
    window : int
        Completed conversations that count (N); the oldest one leaves for a new one.
    timeout_s : float
        Seconds of silence that complete a conversation.
    intents : int
        Number of intents (K).
    max_turn : int
        Deepest turn with a state of its own, as in `fit_statistics`.

    Raises
    ------
    ValueError
        If the window is not positive.
    """

    def __init__(
        self,
        window: int = 10_000,
        timeout_s: float = TIMEOUT_S,
        intents: int = 30,
        max_turn: int = MAX_TURN,
    ) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1 conversation, got {window}")
        self.window, self.timeout_s = window, timeout_s
        self.intents, self.max_turn = intents, max_turn
        self.now_s = -math.inf
        self.open: dict[Hashable, Record] = {}
        # Time and length of the record at every request: a later one outdates the earlier.
        self.silence: deque[tuple[float, Hashable, int]] = deque()
        self.completed: deque[Record] = deque()
        shape = (intents + 1, max_turn + 1)
        self.reached, self.continued = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.log_sum, self.square_sum = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def observe(self, conversation_id: Hashable, turn: int, intent: int, now_s: float) -> None:
        """Take note of one request.

        Parameters
        ----------
        conversation_id : hashable
        turn : int
            1-based turn of the conversation.
        intent : int
            Code within 0..K-1, or -1 for unknown.
        now_s : float
            Arrival in seconds; never earlier than the one before.

        Raises
        ------
        ValueError
            If time runs backwards or the intent is out of range.
        """
        if not -1 <= intent < self.intents:
            raise ValueError(f"intent must be within -1 and {self.intents - 1}, got {intent}")
        self.advance(now_s)
        record = self.open.get(conversation_id)
        if record is None:
            record = self.open[conversation_id] = Record(now_s, intent, [turn])
        else:
            record.log_delays.append(math.log(max(now_s - record.last_s, MIN_DELAY_S)))
            record.last_s, record.intent = now_s, intent
            record.turns.append(turn)
        self.silence.append((now_s, conversation_id, len(record.turns)))

    def advance(self, now_s: float) -> None:
        """Move the clock and complete every conversation that has been silent too long.

        Raises
        ------
        ValueError
            If time runs backwards.
        """
        if now_s < self.now_s:
            raise ValueError(f"time runs backwards: {now_s} s after {self.now_s} s")
        self.now_s = now_s
        while self.silence and now_s - self.silence[0][0] > self.timeout_s:
            _, conversation_id, length = self.silence.popleft()
            record = self.open[conversation_id]
            if length == len(record.turns):
                del self.open[conversation_id]
                self.complete(record)

    def complete(self, record: Record) -> None:
        """Let `record` into the window and the oldest one out."""
        self.completed.append(record)
        self.count(record, 1)
        if len(self.completed) > self.window:
            self.count(self.completed.popleft(), -1)

    def count(self, record: Record, sign: int) -> None:
        """Add (`sign` 1) or take away (-1) a record; exact in both directions."""
        row = record.intent
        for turn in record.turns:
            if turn <= self.max_turn:
                self.reached[row, turn] += sign
        for turn, log_delay in zip(record.turns, record.log_delays, strict=False):
            if turn <= self.max_turn:
                self.continued[row, turn] += sign
                self.log_sum[row, turn] += sign * round(log_delay * UNIT)
                self.square_sum[row, turn] += sign * round(log_delay**2 * UNIT)

    def snapshot(self) -> ReuseStatistics:
        """Return the statistics of the window, as `fit_statistics` gives for the same requests."""
        seen = np.flatnonzero(self.reached.any(axis=0))
        deepest = int(seen[-1]) if len(seen) else 0
        shape = ((0, 0), (0, 1))  # the default column
        tables = (self.reached, self.continued, self.log_sum, self.square_sum)
        reached, continued, log_sum, square_sum = (
            np.pad(table[:, : deepest + 1], shape) for table in tables
        )
        total = np.maximum(continued, 1) * UNIT
        mean = log_sum / total
        return ReuseStatistics.from_moments(reached, continued, mean, square_sum / total - mean**2)
