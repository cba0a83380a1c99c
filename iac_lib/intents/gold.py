"""The gold set: requests that two readers labelled independently.

Ids, turns and labels of ``sharegpt-prefix``; the text comes with the data set. A third of
it is the test part: nothing is trained on it and nothing is tuned on it.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
import pandas as pd

from iac_lib.intents.taxonomy import load_taxonomy

TEST_EVERY = 3


def load_gold() -> pd.DataFrame:
    """Return the contexts that were labelled twice.

    Returns
    -------
    DataFrame
        ``conversation_id, turn, sample`` ("stratified" by turn and length, or "random"),
        ``reader_a, reader_b`` (what each reader said), ``intent`` (agreed, or decided by
        a third), all categorical over the thirty intents, and ``part`` ("train", "test").
    """
    return read_labels("gold.parquet", ["reader_a", "reader_b", "intent"]).assign(
        part=lambda gold: np.where(np.arange(len(gold)) % TEST_EVERY, "train", "test")
    )


def load_training() -> pd.DataFrame:
    """Return the contexts that one reader labelled, for training.

    Returns
    -------
    DataFrame
        ``conversation_id, turn, intent``; from the first half of the conversations, none
        of them in the gold set.
    """
    return read_labels("training.parquet", ["intent"])


def read_labels(name: str, columns: list[str]) -> pd.DataFrame:
    """Return a shipped table of labels, `columns` as categories in taxonomy order."""
    with as_file(files("iac_lib") / "data" / "intents" / name) as path:
        table = pd.read_parquet(path)
    names = list(load_taxonomy(30).names)
    return table.assign(**{c: pd.Categorical(table[c], categories=names) for c in columns})


def settle(
    reader_a: pd.Series, reader_b: pd.Series, decided: dict[int, str]
) -> tuple[pd.Series, list[int]]:
    """Return the labels that stand, and the rows still to be decided.

    Parameters
    ----------
    reader_a, reader_b : Series of str
        Labels of the same contexts.
    decided : dict of int to str
        Label by row, from a third reader who saw both.
    """
    agreed = reader_a.where(reader_a == reader_b)
    labels = agreed.fillna(pd.Series(decided, dtype=object).reindex(agreed.index))
    return labels, labels.index[labels.isna()].tolist()


def count_confusions(first: pd.Series, second: pd.Series) -> pd.DataFrame:
    """Return how often two readers gave which pair of different labels, most frequent first.

    Parameters
    ----------
    first, second : Series of str

    Returns
    -------
    DataFrame
        ``one, other, contexts``; the order within a pair does not count.
    """
    different = first.astype(str) != second.astype(str)
    pairs = np.sort(
        np.stack([first[different].astype(str), second[different].astype(str)], axis=1), axis=1
    )
    table = pd.DataFrame(pairs, columns=["one", "other"])
    return table.value_counts().rename("contexts").reset_index()
