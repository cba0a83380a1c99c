"""The law of the delay between two turns: empirical curves, and how well a log-normal fits.

Delays are in seconds, from arrival to arrival. Knows nothing of policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from iac_lib.reuse.statistics import MIN_DELAY_S, TIMEOUT_S

LIMIT_S = 600.0
BINS = 500
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def delay_quantiles(table: pd.DataFrame, by: str | Sequence[str] = "turn") -> pd.DataFrame:
    """Return quantiles of the delay and the share beyond the 30-minute timeout, by group.

    Parameters
    ----------
    table : DataFrame
        With ``delay_s`` (NaN: no follow-up) and the columns of `by`.
    by : str or sequence of str
    """
    delays = table.dropna(subset="delay_s").groupby(by, observed=True)["delay_s"]
    columns = {"delays": delays.size()}
    columns |= {f"p{100 * q:.0f}_s": delays.quantile(q) for q in QUANTILES}
    columns["beyond_30_min"] = delays.agg(lambda seconds: (seconds > TIMEOUT_S).mean())
    return pd.DataFrame(columns).reset_index()


def delay_cdf(delays: np.ndarray, limit_s: float = LIMIT_S, points: int = 121) -> pd.DataFrame:
    """Return the empirical CDF of all `delays` at even steps from 0 to `limit_s`.

    Longer delays count, so that a curve ends at the share of delays within the limit.
    """
    delays = np.sort(delays[np.isfinite(delays)])
    at = np.linspace(0, limit_s, points)
    return pd.DataFrame(
        {"delay_s": at, "cdf": np.searchsorted(delays, at, side="right") / len(delays)}
    )


def delay_pdf(delays: np.ndarray, limit_s: float = LIMIT_S, points: int = 600) -> pd.DataFrame:
    """Return a smooth density of all `delays` up to `limit_s`, per second.

    A Gaussian kernel (Scott's width) on the logarithm, carried back: it keeps all mass above
    0 and widens with the delay, as the spread does.
    """
    log_delay = np.log(np.maximum(delays[np.isfinite(delays)], MIN_DELAY_S))
    width = log_delay.std() * len(log_delay) ** -0.2
    # Kernels on fine bins instead of on every delay: the same curve, whatever their number.
    share, edges = np.histogram(log_delay, BINS)
    middle = (edges[1:] + edges[:-1]) / 2
    at = np.linspace(0, limit_s, points + 1)[1:]
    kernels = np.exp(-(((np.log(at)[:, None] - middle) / width) ** 2) / 2)
    density = kernels @ share / (len(log_delay) * width * np.sqrt(2 * np.pi))
    return pd.DataFrame({"delay_s": at, "pdf": density / at})


def curves_by(
    table: pd.DataFrame,
    by: Sequence[str],
    curve: Callable[[np.ndarray], pd.DataFrame],
    least: int = 30,
) -> pd.DataFrame:
    """Return `curve` of the delays of every group, stacked, with the columns of `by` in front.

    Parameters
    ----------
    table : DataFrame
        With ``delay_s`` and the columns of `by`.
    by : sequence of str
    curve : callable
        `delay_cdf`, `delay_pdf` or `qq_points`.
    least : int
        Groups with fewer delays are left out.
    """
    parts = []
    for names, rows in table.dropna(subset="delay_s").groupby(list(by), observed=True, sort=False):
        if len(rows) >= least:
            points = curve(rows["delay_s"].to_numpy())
            parts.append(pd.DataFrame(dict(zip(by, names, strict=True)), points.index).join(points))
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class LogNormalFit:
    """A log-normal law fitted to delays by moments of the logarithm, and how far it is off.

    Parameters
    ----------
    delays : int
        How many were seen.
    mu, sigma : float
        Mean and standard deviation of log seconds.
    ks : float
        Largest distance between the empirical and the fitted CDF.
    r2 : float
        Squared correlation of the two laws' quantiles on the log scale.
    """

    delays: int
    mu: float
    sigma: float
    ks: float
    r2: float


def fit_lognormal(delays: np.ndarray) -> LogNormalFit:
    """Fit a log-normal to `delays` (float64, NaN ignored; at least 1 ms each)."""
    z, mu, sigma = standardise(delays)
    n = len(z)
    fitted = ndtr(z)
    ks = max((np.arange(1, n + 1) / n - fitted).max(), (fitted - np.arange(n) / n).max())
    r = np.corrcoef(z, ndtri((np.arange(n) + 0.5) / n))[0, 1]
    return LogNormalFit(n, float(mu), float(sigma), float(ks), float(r**2))


def qq_points(delays: np.ndarray, points: int = 99) -> pd.DataFrame:
    """Return standardised log-delay quantiles against the standard normal's."""
    z, _, _ = standardise(delays)
    share = (np.arange(points) + 0.5) / points
    return pd.DataFrame({"normal": ndtri(share), "observed": np.quantile(z, share)})


def standardise(delays: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the sorted log delays in standard units, and their mean and deviation."""
    log_delay = np.sort(np.log(np.maximum(delays[np.isfinite(delays)], MIN_DELAY_S)))
    if len(log_delay) < 2 or log_delay[0] == log_delay[-1]:
        raise ValueError("a log-normal needs at least two different delays")
    mu, sigma = log_delay.mean(), log_delay.std()
    return (log_delay - mu) / sigma, mu, sigma
