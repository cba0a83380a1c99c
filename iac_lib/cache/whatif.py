"""What if? Hit rates for one setting, fast enough to follow a slider.

Whatever a change of settings leaves as it was is kept: conversations, their schedule per
rate, statistics per share of wrong labels, LRU and optimum per rate and capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Literal

import pandas as pd

from iac_lib.cache.optimum import optimum
from iac_lib.cache.replay import replay
from iac_lib.intents.noise import randomise_intents
from iac_lib.policies import IAC, LRU
from iac_lib.policies.iac import SIGNALS
from iac_lib.reuse.statistics import ReuseStatistics, fit_statistics
from iac_lib.traces.arrivals import OriginalDelays
from iac_lib.traces.experiment import Experiment
from iac_lib.traces.schema import Trace
from iac_lib.traces.sources import MAX_CONTEXT_TOKENS, sharegpt_experiment
from iac_lib.traces.synthetic import generate

NUMBER = {"history": 0, "replay": 1}
KEPT = 24
INTERACTIVE = 5_000  # synthetic conversations, to learn from and to replay


@dataclass(frozen=True)
class Settings:
    """What the sliders say.

    Parameters
    ----------
    capacity_tokens : int
    rate_per_s : float
        New conversations per second.
    window : {"median", "mean", "mode"}
        IAC's recency window.
    signals : tuple of str
        IAC's signals, most important first.
    noise : float
        Share of wrong labels (0..1), in what IAC learns from and in what it serves;
        without effect on a trace that has no labels.
    """

    capacity_tokens: int = 150_000
    rate_per_s: float = 5.0
    window: Literal["median", "mean", "mode"] = "median"
    signals: tuple[str, ...] = SIGNALS
    noise: float = 0.0


@dataclass(frozen=True, eq=False)
class Bench:
    """One workload, ready to be replayed under any settings.

    Parameters
    ----------
    experiment : Experiment
    seed : int
    """

    experiment: Experiment
    seed: int = 0
    reference_rate: float = field(default=Settings.rate_per_s, repr=False)

    @property
    def name(self) -> str:
        """The label of the trace."""
        return self.trace(self.reference_rate, 0.0).name

    @property
    def labelled(self) -> bool:
        """Whether requests have intents."""
        return bool(self.trace(self.reference_rate, 0.0).intents)

    @lru_cache(maxsize=KEPT)  # noqa: B019  a bench lives as long as its notebook
    def trace(self, rate_per_s: float, noise: float, part: str = "replay") -> Trace:
        """Return history or replay at `rate_per_s`, a share of its labels made wrong."""
        if noise > 0:
            clean = self.trace(rate_per_s, 0.0, part)
            seed = 2 * self.seed + NUMBER[part]
            return randomise_intents(clean, noise, seed) if clean.intents else clean
        return self.experiment.schedule_part(NUMBER[part], self.seed, rate_per_s)

    @lru_cache(maxsize=KEPT)  # noqa: B019
    def statistics(self, noise: float) -> ReuseStatistics:
        """Return what IAC learns; delays do not depend on the rate of new conversations."""
        return fit_statistics(self.trace(self.reference_rate, noise, "history"))

    @lru_cache(maxsize=KEPT)  # noqa: B019
    def lru(self, rate_per_s: float, capacity_tokens: int) -> float:
        """Return the hit rate of LRU."""
        return replay(self.trace(rate_per_s, 0.0), LRU(), capacity_tokens).hit_rate

    @lru_cache(maxsize=KEPT)  # noqa: B019
    def optimum(self, rate_per_s: float, capacity_tokens: int) -> float:
        """Return the best possible hit rate."""
        return optimum(self.trace(rate_per_s, 0.0), capacity_tokens).hit_rate

    @lru_cache(maxsize=KEPT)  # noqa: B019
    def iac(self, settings: Settings) -> float:
        """Return the hit rate of IAC."""
        policy = IAC(self.statistics(settings.noise), settings.signals, settings.window)
        trace = self.trace(settings.rate_per_s, settings.noise)
        return replay(trace, policy, settings.capacity_tokens).hit_rate


def measure_hit_rates(benches: Sequence[Bench], settings: Settings) -> pd.DataFrame:
    """Return ``data, policy, hit_rate`` for LRU, IAC and the optimum on every bench.

    On a trace without labels the policy is called ``iac-no-intent``: IAC by turn alone.
    """
    point = (settings.rate_per_s, settings.capacity_tokens)
    jobs = []
    for bench in benches:
        _ = bench.trace(settings.rate_per_s, 0.0).segments  # built once, before threads share it
        iac = "iac" if bench.labelled else "iac-no-intent"
        jobs.append((bench.name, "lru", bench.lru, point))
        jobs.append((bench.name, iac, bench.iac, (settings,)))
        jobs.append((bench.name, "optimum", bench.optimum, point))
    # Replays release the interpreter lock.
    with ThreadPoolExecutor() as pool:
        rates = list(pool.map(lambda job: job[2](*job[3]), jobs))
    rows = [(data, policy, rate) for (data, policy, *_), rate in zip(jobs, rates, strict=True)]
    return pd.DataFrame(rows, columns=["data", "policy", "hit_rate"])


def make_benches(profile: str, sharegpt_json: str | None = None) -> list[Bench]:
    """Return ShareGPT, which has no intents, and beside it synthetic chats, which have.

    Parameters
    ----------
    profile, sharegpt_json
        As for `sharegpt_experiment`.
    """
    labelled = Experiment(
        partial(generate, "sharechat-shaped", 2 * INTERACTIVE),
        INTERACTIVE,
        INTERACTIVE,
        delays=OriginalDelays(),
        max_context_tokens=MAX_CONTEXT_TOKENS,
    )
    return [Bench(sharegpt_experiment(profile, sharegpt_json)), Bench(labelled)]
