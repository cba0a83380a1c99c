"""The statistical model behind synthetic conversations, calibrated to published means.

Tables by hour, intent and turn, from the parameters in ``iac_lib/data/synthetic``. Knows
expectations only; `synthetic.generate` draws from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import numpy as np
import yaml
from scipy.optimize import brentq
from scipy.special import expit, ndtr

HOURS = 24
MAX_TURNS = 100
SETTLED_TURN = 20  # from here on the odds of a follow-up and its delay no longer change
BUSIEST_H = 15


@dataclass(frozen=True)
class Lengths:
    """Log-normal token counts by intent, cut at a limit.

    Parameters
    ----------
    mu : float64[K]
        Mean log tokens.
    spread : float
        Standard deviation of log tokens.
    limit : int
        Longer ones count as this.
    """

    mu: np.ndarray
    spread: float
    limit: int

    def mean(self) -> np.ndarray:
        """Return float64[K]: expected tokens, the limit included."""
        z = (np.log(self.limit) - self.mu) / self.spread
        below = np.exp(self.mu + self.spread**2 / 2) * ndtr(z - self.spread)
        return below + self.limit * ndtr(-z)


@dataclass(frozen=True)
class Workload:
    """What a conversation of a synthetic workload may do; K intents, H hours, T turns.

    Parameters
    ----------
    intents : tuple of str
    arrivals : float64[H]
        Share of conversations that start in each hour of the day.
    mix : float64[H, K]
        Intent of turn 1, and of a turn that switches.
    follow : float64[H, K, T]
        Probability that turn t (column t - 1) has a follow-up; 0 in the last column.
    delay_mu : float64[H, K, T]
        Mean log delay in seconds until the follow-up.
    delay_sigma : float64[K]
        Standard deviation of log delay.
    switch : float
        Probability that a follow-up has another intent than the turn before.
    user, output : Lengths
    """

    intents: tuple[str, ...]
    arrivals: np.ndarray
    mix: np.ndarray
    follow: np.ndarray
    delay_mu: np.ndarray
    delay_sigma: np.ndarray
    switch: float
    user: Lengths
    output: Lengths


def read_parameters(name: str) -> dict:
    """Return the content of one file of synthetic parameters."""
    path = files("iac_lib") / "data" / "synthetic" / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def build_workload(
    shape: str,
    drift: bool = True,
    length_of: Literal["conversation", "turn"] = "conversation",
) -> Workload:
    """Return the workload whose expected turns and lengths are the published ones.

    Two things are solved for numerically: a constant in the log-odds of a follow-up (mean
    turns) and a factor on all lengths (mean length), given the number of turns that each
    intent is expected to have.

    Parameters
    ----------
    shape : {"wildchat-shaped", "sharechat-shaped", "lmsys-shaped"}
    drift : bool
        Whether intents, follow-ups and delays change with the hour (IAC, Insight 3).
    length_of : {"conversation", "turn"}
        What the published mean length is the length of.

    Raises
    ------
    ValueError
        If there is no such shape or reading.
    """
    shapes, intents = read_parameters("shapes"), read_parameters("intents")
    if shape not in shapes:
        raise ValueError(f"shape must be one of {', '.join(shapes)}; got {shape!r}")
    if length_of not in ("conversation", "turn"):
        raise ValueError(f"length_of must be conversation or turn, got {length_of!r}")
    s = shapes[shape]
    p = {key: np.array([float(i[key]) for i in intents.values()]) for key in intents["chitchat"]}

    hours = np.arange(HOURS) + 0.5
    daily = np.cos(2 * np.pi * (hours[:, None] - p["peak_h"]) / HOURS) * drift
    arrivals = normalise(1 + s["busy"] * np.cos(2 * np.pi * (hours - BUSIEST_H) / HOURS))
    mix = normalise(p["share"] * np.exp(s["mix_swing"] * daily))
    log_turn = np.log(np.minimum(np.arange(1, MAX_TURNS + 1), SETTLED_TURN))
    odds = (p["follow"] + s["follow_swing"] * daily)[..., None] + s["deepening"] * log_turn
    level = np.log(p["delay_s"]) - s["delay_swing"] * daily
    delay_mu = level[..., None] + p["trend"][:, None] * log_turn

    def follow(constant: float) -> np.ndarray:
        table = expit(odds + constant)
        table[..., -1] = 0
        return table

    def excess_turns(constant: float) -> float:
        reached = expected_turns(arrivals, mix, follow(constant), s["switch"])
        return reached.sum() - s["turns"]

    calibrated = follow(brentq(excess_turns, -10, 5))
    turns = expected_turns(arrivals, mix, calibrated, s["switch"])
    weight = normalise(turns)
    turn_mean = s["length"] / (s["turns"] if length_of == "conversation" else 1)
    user_mean = turn_mean * s["user_share"]
    output_mean = turn_mean - user_mean
    return Workload(
        intents=tuple(intents),
        arrivals=arrivals,
        mix=mix,
        follow=calibrated,
        delay_mu=delay_mu,
        delay_sigma=p["spread"],
        switch=s["switch"],
        user=scale_lengths(p["user"], s["user_spread"], s["user_limit"], weight, user_mean),
        output=scale_lengths(
            p["output"], s["output_spread"], s["output_limit"], weight, output_mean
        ),
    )


def normalise(weights: np.ndarray) -> np.ndarray:
    """Return `weights` scaled to sum to 1 along the last axis."""
    return weights / weights.sum(axis=-1, keepdims=True)


def expected_turns(
    arrivals: np.ndarray, mix: np.ndarray, follow: np.ndarray, switch: float
) -> np.ndarray:
    """Return float64[K]: expected turns of each intent in one conversation."""
    here = arrivals[:, None] * mix
    turns = np.zeros(mix.shape[1])
    for t in range(follow.shape[2]):
        turns += here.sum(axis=0)
        here = here * follow[..., t]
        here = (1 - switch) * here + switch * here.sum(axis=1, keepdims=True) * mix
    return turns


def scale_lengths(
    relative: np.ndarray, spread: float, limit: int, weight: np.ndarray, mean: float
) -> Lengths:
    """Return lengths in proportion to `relative` whose mean over turns is `mean` tokens."""

    def lengths(log_scale: float) -> Lengths:
        return Lengths(np.log(relative) + log_scale - spread**2 / 2, spread, limit)

    guess = np.log(mean / (weight @ relative))
    scale = brentq(lambda x: weight @ lengths(x).mean() - mean, guess - 1, guess + 5)
    return lengths(scale)
