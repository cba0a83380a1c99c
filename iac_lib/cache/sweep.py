"""Sweeps: policy x capacity x seed x arrival rate, in parallel, as one table.

Replays release the interpreter lock, so threads share compiled code and traces. Inside
``joblib.parallel_config(backend="dask")`` the same call runs on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from joblib import Parallel, cpu_count, delayed
from scipy import stats

from iac_lib.cache.optimum import optimum
from iac_lib.cache.replay import replay
from iac_lib.progress import progress

if TYPE_CHECKING:
    from iac_lib.policies.policy import Policy
    from iac_lib.traces.schema import Trace

Workload = Callable[[int, float], "tuple[Trace, Trace]"]


def sweep(
    workload: Workload,
    policies: Sequence[Policy],
    capacities_tokens: Sequence[int],
    *,
    seeds: Iterable[int] = (0,),
    rates: Iterable[float] = (5.0,),
    bound: bool = True,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Replay every combination and return its hit rate.

    Parameters
    ----------
    workload : callable (seed, rate) -> (history, replay)
        Two traces: what policies learn from, and what they are judged on. `rate` is in
        new conversations per second.
    policies : sequence of Policy
        Fitted here, on each history. Of a policy with several candidates the best
        setting is reported, per trace and capacity.
    capacities_tokens : sequence of int
    seeds, rates : iterables
    bound : bool
        Add rows for the policy ``optimum``.
    n_jobs : int or None
        Parallel replays; None uses every core.

    Returns
    -------
    DataFrame
        ``policy, setting, capacity_tokens, seed, rate, hit_rate, requests, data``, in a
        fixed order whatever the number of jobs.
    """
    names = [policy.name for policy in policies]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two policies are called {repeated!r}; give one another name=")
    runner = Parallel(n_jobs=n_jobs or cpu_count(), prefer="threads", return_as="generator")
    points = [(seed, rate) for rate in rates for seed in seeds]
    traces = list(runner(delayed(workload)(seed, rate) for seed, rate in points))
    jobs = []
    for (seed, rate), (history, trace) in zip(points, traces, strict=True):
        _ = trace.segments  # built once, before threads share it
        key = {"seed": seed, "rate": rate, "requests": len(trace), "data": trace.name}
        fitted = [policy.fit(history) for policy in policies]
        for capacity in capacities_tokens:
            jobs += [(policy, trace, capacity, key) for policy in fitted]
            jobs += [(None, trace, capacity, key)] if bound else []
    results = runner(delayed(measure)(*job) for job in jobs)
    return pd.DataFrame(list(progress(results, "replays", total=len(jobs))))


def measure(policy: Policy | None, trace: Trace, capacity_tokens: int, key: dict) -> dict:
    """Return one row of a sweep; no policy stands for the optimum."""
    if policy is None:
        name, setting, hit_rate = "optimum", "", optimum(trace, capacity_tokens).hit_rate
    else:
        name = policy.name
        hit_rate, setting = find_best(policy, trace, capacity_tokens)
    row = {"policy": name, "setting": setting, "capacity_tokens": capacity_tokens}
    return row | key | {"hit_rate": hit_rate}


def find_best(policy: Policy, trace: Trace, capacity_tokens: int) -> tuple[float, str]:
    """Return the best hit rate among the policy's candidates, and what sets it apart."""
    candidates = policy.candidates()
    rates = [replay(trace, candidate, capacity_tokens).hit_rate for candidate in candidates]
    best = candidates[int(np.argmax(rates))]
    setting = ""
    if len(candidates) > 1:
        changed = [f for f in vars(best) if getattr(best, f) is not getattr(policy, f)]
        setting = ", ".join(f"{f}={getattr(best, f)}" for f in changed)
    return max(rates), setting


def summarise(
    frame: pd.DataFrame, by: Sequence[str], value: str = "hit_rate", level: float = 0.95
) -> pd.DataFrame:
    """Return mean and confidence interval of `value` over seeds, per group of `by`.

    The interval is Student's t over the seeds (NaN bounds for a single seed); columns
    ``mean, low, high, seeds``. Groups keep the order in which they first appear.
    """
    groups = frame.groupby(list(by), sort=False, observed=True)[value]
    out = groups.agg(["mean", "std", "count"]).rename(columns={"count": "seeds"})
    quantile = stats.t.ppf(0.5 + level / 2, np.maximum(out["seeds"] - 1, 1))
    half = np.where(out["seeds"] > 1, quantile * out["std"] / np.sqrt(out["seeds"]), np.nan)
    return (
        out.assign(low=out["mean"] - half, high=out["mean"] + half)
        .drop(columns="std")
        .reset_index()
    )


def close_gap(summary: pd.DataFrame) -> pd.DataFrame:
    """Add ``gap_closed``: (policy - LRU) / (optimum - LRU), of the means in `summary`.

    Parameters
    ----------
    summary : DataFrame
        From `summarise`, one row per policy, ``lru`` and ``optimum`` among them.
    """
    mean = summary.set_index("policy")["mean"]
    gap = mean["optimum"] - mean["lru"]
    return summary.assign(gap_closed=(summary["mean"] - mean["lru"]) / gap)


def subtract(frame: pd.DataFrame, baseline: str, policies: Sequence[str]) -> pd.DataFrame:
    """Return how much each policy's hit rate differs from the baseline's, run by run.

    Both saw the same arrivals, so `summarise` of the differences has narrower intervals
    than the difference of two summaries.

    Parameters
    ----------
    frame : DataFrame
        From `sweep`.
    baseline : str
        Name of the policy that is subtracted.
    policies : sequence of str
        Names of those that it is subtracted from.

    Returns
    -------
    DataFrame
        ``policy, capacity_tokens, rate, seed, hit_rate`` (the difference).

    Raises
    ------
    ValueError
        If a run of one has no counterpart.
    """
    keys = ["capacity_tokens", "rate", "seed"]
    wide = frame.pivot(index=keys, columns="policy", values="hit_rate")[[baseline, *policies]]
    if wide.isna().any(axis=None):
        raise ValueError(f"{', '.join(policies)} and {baseline} were not run on the same points")
    differences = wide[list(policies)].sub(wide[baseline], axis=0)
    return differences.melt(
        var_name="policy", value_name="hit_rate", ignore_index=False
    ).reset_index()
