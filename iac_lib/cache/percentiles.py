"""How the hit ratio is spread over requests (IAC, B.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.cache.replay import replay

if TYPE_CHECKING:
    from iac_lib.policies.policy import Policy
    from iac_lib.traces.schema import Trace

PERCENTILES = (10, 25, 50, 75, 90)


def measure_percentiles(
    trace: Trace, policies: Sequence[Policy], capacity_tokens: int
) -> pd.DataFrame:
    """Return percentiles of the per-request hit ratio, and the overall hit rate.

    Parameters
    ----------
    trace : Trace
    policies : sequence of Policy
        Fitted. Of a policy with several candidates the best is taken.
    capacity_tokens : int

    Returns
    -------
    DataFrame
        One row per policy: ``policy, p10, p25, p50, p75, p90, overall`` (0..1).
    """
    rows = []
    for policy in policies:
        results = [replay(trace, c, capacity_tokens) for c in policy.candidates()]
        best = max(results, key=lambda result: result.hit_rate)
        values = np.percentile(best.hit_ratios, PERCENTILES)
        row = {f"p{p}": value for p, value in zip(PERCENTILES, values, strict=True)}
        rows.append({"policy": policy.name} | row | {"overall": best.hit_rate})
    return pd.DataFrame(rows)
