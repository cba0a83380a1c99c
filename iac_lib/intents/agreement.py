"""How far two readers agree, at thirty, twenty and ten intents. Knows labels only."""

from __future__ import annotations

import pandas as pd

from iac_lib.intents.evaluation import (
    accuracy,
    cohen_kappa,
    confidence_interval,
    count_confusion,
)
from iac_lib.intents.taxonomy import LEVELS, group_codes


def score_agreement(first: pd.Series, second: pd.Series) -> pd.DataFrame:
    """Score two readings of the same contexts at every level of the taxonomy.

    Parameters
    ----------
    first, second : Series of category
        Over the thirty intents, in taxonomy order.

    Returns
    -------
    DataFrame
        ``classes, contexts, agreed, agreed_low, agreed_high, kappa, kappa_low, kappa_high``:
        the share of equal labels and Cohen's kappa with 95 % bootstrap intervals.
    """
    rows = []
    for classes in LEVELS:
        groups = group_codes(classes)
        confusion = count_confusion(groups[first.cat.codes], groups[second.cat.codes], classes)
        row = {"classes": classes, "contexts": len(first)}
        for name, score in {"agreed": accuracy, "kappa": cohen_kappa}.items():
            low, high = confidence_interval(confusion, score)
            row |= {name: float(score(confusion)), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)
