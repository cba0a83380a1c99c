"""Tables that stand in for a figure: saved with their source, shown side by side."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from iac_lib.figures.save import figures_directory, name_source
from iac_lib.figures.style import label
from iac_lib.files import write_atomically


def save_table(
    name: str, table: pd.DataFrame, source: str, directory: str | Path | None = None
) -> None:
    """Write a table as ``<name>.csv`` beside the figures, its source in the column ``data``.

    Parameters
    ----------
    name : str
        File name without suffix.
    table : DataFrame
    source : str
        The data set behind the numbers.
    directory : path or None
        Default: where figures go.

    Raises
    ------
    ValueError
        As `iac_lib.figures.save.save`.
    """
    stem = Path(directory) if directory is not None else figures_directory()
    with write_atomically(stem / f"{name}.csv") as temporary:
        name_source(name, table, source).to_csv(temporary, index=False, lineterminator="\n")


def set_beside(summary: pd.DataFrame, rows: str) -> pd.DataFrame:
    """Return mean hit rates in percent: one row per value of `rows`, one column per policy."""
    wide = summary.pivot(index=rows, columns="policy", values="mean")
    order = list(dict.fromkeys(summary["policy"]))
    return (100 * wide[order]).round(1).rename(columns=label)
