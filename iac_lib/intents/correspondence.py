"""Two ways to sort the same requests: which class of one is which of the other.

Knows labels only, and no order of truth between the two.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

NO_CLASS = "no class"


def cross_tabulate(found: pd.Series, given: pd.Series) -> pd.DataFrame:
    """Return how many requests are in each pair of classes.

    Parameters
    ----------
    found, given : Series of str
        Class of each request by either way, missing where there is none.

    Returns
    -------
    DataFrame
        Counts: `given` as index, most frequent first; `found` as columns, ordered so that the
        largest counts lie near the diagonal.
    """
    found, given = (
        labels.astype(object).fillna(NO_CLASS).reset_index(drop=True) for labels in (found, given)
    )
    table = pd.crosstab(given, found).loc[given.value_counts().index]
    largest = np.argmax(table.to_numpy(), axis=0)
    order = np.lexsort([-table.max().to_numpy(), largest])
    return table.iloc[:, order].rename_axis(index="given", columns="found")


def purity(table: pd.DataFrame) -> float:
    """Return the share of requests in the most frequent row of their column.

    Parameters
    ----------
    table : DataFrame
        Counts, as `cross_tabulate` returns them; transposed for the other way round.
    """
    return float(table.max().sum() / table.to_numpy().sum())


def chance_purity(found: pd.Series, given: pd.Series, resamples: int = 200, seed: int = 0) -> float:
    """Return the mean purity of classes of the same sizes whose requests were shuffled.

    Small classes are pure by themselves, so purity says something only beside this.

    Parameters
    ----------
    found, given : Series of str
    resamples, seed : int
    """
    rng = np.random.default_rng(seed)
    shuffled = (given.sample(frac=1, random_state=rng) for _ in range(resamples))
    return float(np.mean([purity(cross_tabulate(found, other)) for other in shuffled]))
