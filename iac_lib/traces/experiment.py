"""An experiment: what policies learn from, and what they are judged on.

Both are scheduled anew for every (seed, rate), history and replay from separate random
streams, so that no policy sees a time of the trace it is judged on (IAC, A.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from iac_lib.traces.arrivals import Delays, LogNormalDelays, Poisson, Starts, schedule
from iac_lib.traces.conversations import Conversations, split
from iac_lib.traces.schema import Trace


@dataclass(frozen=True, eq=False)
class Experiment:
    """Split conversations and give both parts arrival times.

    Parameters
    ----------
    conversations : Conversations or callable (seed) -> Conversations
        Fixed data, or a generator that makes new data for every seed.
    history, replay : int
        Conversations to learn from and, after them, to replay.
    delays : Delays
        Between the turns of a conversation.
    starts : callable (rate) -> Starts
        Arrival pattern of new conversations at `rate` per second.
    max_context_tokens : int or None
        Longest input plus output that is served.
    """

    conversations: Conversations | Callable[[int], Conversations]
    history: int
    replay: int
    delays: Delays = field(default_factory=LogNormalDelays)
    starts: Callable[[float], Starts] = Poisson
    max_context_tokens: int | None = None

    def __call__(self, seed: int, rate: float) -> tuple[Trace, Trace]:
        """Return (history, replay) for `seed` and `rate` (new conversations per second)."""
        return tuple(self.schedule_part(number, seed, rate) for number in (0, 1))

    def schedule_part(self, number: int, seed: int, rate: float) -> Trace:
        """Return only the history (`number` 0) or only the replay (1)."""
        part = self.split_for(seed if callable(self.conversations) else 0)[number]
        return schedule(
            part,
            self.starts(rate),
            self.delays,
            seed=2 * seed + number,
            max_context_tokens=self.max_context_tokens,
        )

    @lru_cache(maxsize=8)  # noqa: B019  experiments live as long as their notebook
    def split_for(self, seed: int) -> tuple[Conversations, Conversations]:
        """Return (history, replay) conversations, kept for the rates of the same seed."""
        return split(self.read(seed), self.history, self.replay)

    def read(self, seed: int = 0) -> Conversations:
        """Return all conversations, made for `seed` if they are generated."""
        return self.conversations(seed) if callable(self.conversations) else self.conversations

    def mean_turns(self, seed: int = 0) -> float:
        """Return the mean number of turns of the replayed conversations."""
        _, replayed = self.split_for(seed)
        return len(replayed.turns) / len(replayed)
