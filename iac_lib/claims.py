"""How each claim of the papers is judged from the tables behind the figures.

A check names the CSVs it needs and computes, from them alone, what stands in the report
beside the paper's number. Means over seeds are compared; a claim of an order holds only if
it holds at every point that was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

BASELINES = ("lru", "lfu", "gdsf", "lpc-by-turn", "lpc")


@dataclass(frozen=True)
class Finding:
    """The paper's value, ours, whether the claim holds here, and beyond the intervals."""

    paper: str
    ours: str
    holds: bool
    clear: bool = True


@dataclass(frozen=True)
class Check:
    """Names of the tables a claim is judged on, and the function that judges it."""

    tables: tuple[str, ...]
    find: Callable[..., Finding]


def percent(value: float) -> str:
    """Return a share (0..1) as a percentage with one decimal."""
    return f"{100 * value:.1f}"


def pick(table: pd.DataFrame, **where: object) -> float:
    """Return the mean of the one row that matches; raise if there is not exactly one."""
    rows = table
    for column, value in where.items():
        rows = rows[rows[column] == value]
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows match {where}, expected one")
    return float(rows["mean"].iloc[0])


def spread(table: pd.DataFrame, points: list[str]) -> pd.DataFrame:
    """Return one row per point and one column per policy, holding the means."""
    return table.pivot(index=points, columns="policy", values="mean")


def count(holds: pd.Series) -> str:
    """Return how often a condition holds, as ``3 of 4``."""
    return f"{int(holds.sum())} of {len(holds)}"


def name_workload(table: pd.DataFrame, data_set: str) -> str:
    """Return the one workload of `table` that is, or is shaped like, `data_set`."""
    (name,) = [w for w in table["workload"].unique() if data_set in w]
    return name


def name_orderings(table: pd.DataFrame) -> list[str]:
    """Return one sentence for each ordering the paper states, and whether it holds here.

    Parameters
    ----------
    table : DataFrame
        ``policy, mean, low, high`` at one point. IAC without intent stands in where
        requests have no intents, LPC by turn where there is no learned predictor.
    """
    rows = table.set_index("policy")
    iac = "iac" if "iac" in rows.index else "iac-no-intent"
    lpc = "lpc" if "lpc" in rows.index else "lpc-by-turn"
    pairs = [
        (iac, lpc), (lpc, "gdsf"), (lpc, "lru"), (iac, "wa"), (iac, "full-horizon"),
        ("gdsf", "lru"), ("lru", "lfu"), ("tb+s", iac), ("tb+s", "tb"), ("tb+s", "min"),
    ]  # fmt: skip
    if iac == "iac":
        pairs.insert(1, (iac, "iac-no-intent"))
    sentences = []
    for better, worse in pairs:
        a, b = rows.loc[better], rows.loc[worse]
        verdict = "holds" if a["mean"] > b["mean"] else "does not hold"
        apart = a["low"] > b["high"] or b["low"] > a["high"]
        close = "" if apart else " (intervals overlap)"
        means = f"{percent(a['mean'])} against {percent(b['mean'])} %"
        sentences.append(f"{better} above {worse}: {verdict}{close}, {means}")
    return sentences


def check_order(numbers: dict, table: pd.DataFrame) -> Finding:
    wide = spread(table, ["workload", "capacity_tokens"])
    chain = (wide["iac"] > wide["lpc-by-turn"]) & (wide["lpc-by-turn"] > wide["lru"])
    top = wide["tb+s"] >= wide.drop(columns=["tb+s", "tb", "min", "optimum"]).max(axis=1)
    said, ours = [], []
    for name in ("wildchat", "sharechat"):
        workload = name_workload(table, name)
        paper = numbers["hit_rate"][f"{name}@140000"]
        said.append(f"{name} 140K: IAC {paper['iac']}, LPC {paper['lpc']}, LRU {paper['lru']}")
        row = wide.loc[(workload, 140_000)]
        ours.append(
            f"{name}-shaped 140K: IAC {percent(row['iac'])}, LPC {percent(row['lpc-by-turn'])}, "
            f"LRU {percent(row['lru'])}, TB+S {percent(row['tb+s'])}"
        )
    ours.append(f"order at {count(chain)} points, TB+S on top at {count(top)}")
    return Finding("; ".join(said), "; ".join(ours), bool(chain.all() and top.all()))


def check_memory(numbers: dict, table: pd.DataFrame) -> Finding:
    paper = numbers["hit_rate"]
    small = pick(
        table, workload=name_workload(table, "sharechat"), capacity_tokens=80_000, policy="iac"
    )
    large = pick(
        table,
        workload=name_workload(table, "sharechat"),
        capacity_tokens=170_000,
        policy="lpc-by-turn",
    )
    return Finding(
        f"IAC 80K {paper['sharechat@80000']['iac']}, LPC 170K {paper['sharechat@170000']['lpc']}",
        f"IAC 80K {percent(small)}, LPC 170K {percent(large)}",
        small > large,
    )


def check_rates(
    numbers: dict, sharegpt: pd.DataFrame, lmsys: pd.DataFrame, own: pd.DataFrame
) -> Finding:
    wide = pd.concat([spread(t, ["workload", "rate"]) for t in (sharegpt, lmsys)])
    iac = wide["iac"].fillna(wide["iac-no-intent"])
    leads = iac > wide[[name for name in BASELINES if name in wide]].max(axis=1)
    gain = (iac / wide["lru"]).mean()
    own_wide = spread(own, ["workload", "capacity_tokens"])
    own_gain = (own_wide["iac"] / own_wide["lru"]).mean()
    return Finding(
        "leads at 3, 5, 10 per s",
        f"leads its baselines at {count(leads)} points; IAC / LRU {gain:.2f} under one shared "
        f"delay distribution, {own_gain:.2f} with delays by intent",
        bool(leads.all() and gain < own_gain),
    )


def check_ablation(numbers: dict, table: pd.DataFrame) -> Finding:
    wide = spread(table, ["workload", "capacity_tokens"])
    parts = {
        "(RY,RE,S) >= (RY,RE)": wide["iac"] >= wide["iac RY,RE"],
        "(RY,RE) >= (RE,RY)": wide["iac RY,RE"] >= wide["iac RE,RY"],
        "RE > RY": wide["iac RE"] > wide["iac RY"],
        "intent > no intent": wide["iac"] > wide["iac-no-intent"],
    }
    ours = "; ".join(
        f"{workload}: " + ", ".join(f"{t}: {count(h.loc[workload])}" for t, h in parts.items())
        for workload in table["workload"].unique()
    )
    return Finding("at every capacity", ours, all(holds.all() for holds in parts.values()))


def check_granularity(numbers: dict, table: pd.DataFrame) -> Finding:
    holds, clear, ours = True, True, []
    for workload, rows in table.groupby("workload", sort=False):
        by = rows.set_index("classes").loc[[30, 20, 10]]
        rates = ", ".join(f"{k} classes {percent(v)}" for k, v in by["mean"].items())
        holds &= bool(by["mean"].is_monotonic_decreasing)
        clear &= bool((by["low"].to_numpy()[:-1] > by["high"].to_numpy()[1:]).all())
        if by["accuracy"].notna().all():
            rates += " (accuracy " + ", ".join(percent(v) for v in by["accuracy"]) + ")"
            holds &= bool(by["accuracy"].is_monotonic_increasing)
        ours.append(f"{workload}: {rates}")
    return Finding("30 > 20 > 10, accuracy the other way", "; ".join(ours), holds, clear)


def check_noise(numbers: dict, table: pd.DataFrame) -> Finding:
    # A step may rise by no more than the confidence interval of its mean.
    verdicts, ours = [], []
    for workload, part in table.groupby("workload", sort=False):
        rows = part[part["policy"] == "iac"].sort_values("random_share")
        noisy, half = rows["mean"], rows["high"] - rows["mean"]
        falls = (noisy.diff().iloc[1:] <= half.iloc[1:]).all() and noisy.iloc[-1] < noisy.iloc[0]
        lru = part.loc[part["policy"] == "lru", "mean"].iloc[0]
        verdicts.append(bool(falls and noisy.iloc[-1] > lru))
        ours.append(
            f"{workload}: {percent(noisy.iloc[0])} down to {percent(noisy.iloc[-1])}, "
            f"LRU {percent(lru)}"
        )
    paper = numbers["random_labels_100pct_hit"]["sharechat@170000"]
    return Finding(
        f"{numbers['hit_rate']['sharechat@170000']['iac']} down to {paper} at 100 % random",
        "; ".join(ours),
        all(verdicts),
    )


def check_median(numbers: dict, table: pd.DataFrame) -> Finding:
    wide = spread(table, ["capacity_tokens"])
    best = (wide["iac"] > wide["iac mean"]) & (wide["iac"] > wide["iac mode"])
    row = wide.loc[wide.index.max()]
    ours = (
        f"best at {count(best)} capacities; at {wide.index.max() // 1000}K median "
        f"{percent(row['iac'])}, mean {percent(row['iac mean'])}, mode {percent(row['iac mode'])}"
    )
    return Finding("median best at every capacity", ours, bool(best.all()))


def check_horizon(numbers: dict, table: pd.DataFrame) -> Finding:
    wide = spread(table, ["capacity_tokens"])
    better = wide["iac"] > wide["full-horizon"]
    paper = "; ".join(
        f"{c // 1000}K: {v['iac']} / {v['full_horizon']}"
        for c, v in numbers["full_horizon"].items()
    )
    ours = "; ".join(
        f"{c // 1000}K: {percent(r['iac'])} / {percent(r['full-horizon'])}"
        for c, r in wide.iterrows()
    )
    return Finding(f"IAC / Full-Horizon {paper}", ours, bool(better.all()))


def check_rolling(numbers: dict, table: pd.DataFrame) -> Finding:
    wide = table.pivot(index="fold", columns="policy", values="mean")
    gain = wide["iac"] / wide["lru"] - 1
    paper = [fold["gain_pct"] for fold in numbers["rolling_window"].values()]
    lowest = min(paper) / 100
    return Finding(
        f"+{min(paper)} % to +{max(paper)} %",
        f"{gain.min():+.0%} to {gain.max():+.0%}",
        bool((gain >= lowest).all()),
    )


def check_arrivals(numbers: dict, patterns: pd.DataFrame, constant: pd.DataFrame) -> Finding:
    wide = spread(patterns, ["pattern"])
    wide_constant = spread(constant, ["capacity_tokens"])
    leads = pd.concat([wide["iac"] > wide["lru"], wide_constant["iac"] > wide_constant["lru"]])
    paper = [f"{k} {v['iac']} / {v['lru']}" for k, v in numbers["arrival_patterns"].items()]
    ours = [f"{k} {percent(r['iac'])} / {percent(r['lru'])}" for k, r in wide.iterrows()]
    at = numbers["constant_delay_100s"][140_000]
    row = wide_constant.loc[140_000]
    paper.append(f"constant delay 140K {at['iac']} / {at['lru']}")
    ours.append(f"constant delay 140K {percent(row['iac'])} / {percent(row['lru'])}")
    return Finding("IAC / LRU: " + ", ".join(paper), ", ".join(ours), bool(leads.all()))


def check_wa(numbers: dict, table: pd.DataFrame) -> Finding:
    wide = spread(table, ["capacity_tokens"])
    better = wide["iac*"] > wide["wa"]
    ours = "; ".join(
        f"{c // 1000}K: {percent(r['iac*'])} / {percent(r['wa'])}" for c, r in wide.iterrows()
    )
    return Finding("IAC* above WA at every capacity", ours, bool(better.all()))


CHECKS = {
    "iac-order": Check(("fig06a_capacity",), check_order),
    "iac-memory": Check(("fig06a_capacity",), check_memory),
    "iac-rates": Check(("fig06b_rates", "fig13_rates", "fig06a_capacity"), check_rates),
    "iac-ablation": Check(("fig08a_ablation",), check_ablation),
    "iac-granularity": Check(("fig08b_granularity",), check_granularity),
    "iac-noise": Check(("fig08c_label_noise",), check_noise),
    "iac-median": Check(("fig09_window",), check_median),
    "iac-horizon": Check(("table05_full_horizon",), check_horizon),
    "iac-rolling": Check(("table04_rolling",), check_rolling),
    "iac-arrivals": Check(("table06_arrivals", "table07_constant_delay"), check_arrivals),
    "iac-wa": Check(("fig11_wa",), check_wa),
}
