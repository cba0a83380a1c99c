"""What each way of finding intents says about the gold contexts, kept with the kit.

Scores, not verdicts: accuracy, calibration and mixtures are computed from them. Rows that a
model was trained or tuned on are there for models that have a use for them, such as a mixture;
`gold.load_gold` says which rows are the test part.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.files import write_atomically

QWEN = "qwen-coder-1.5b"


def load_opinions(path: Path | None = None) -> dict[str, np.ndarray]:
    """Return the scores of every model.

    Parameters
    ----------
    path : Path or None
        A file that `write_opinions` wrote; None is the one that comes with the kit.

    Returns
    -------
    dict of str to float32[n, 30]
        By model, rows as in `gold.load_gold`, NaN where a model was not asked.
        ``qwen-coder-1.5b``: log-probabilities of the few-shot prompt; ``e5-small`` and
        ``minilm``: probabilities of the trained heads, not cooled; ``e5-small descriptions``
        and ``minilm descriptions``: cosine to the description of each intent.
    """
    if path is None:
        with as_file(files("iac_lib") / "data" / "intents" / "opinions.parquet") as shipped:
            return load_opinions(shipped)
    table = pd.read_parquet(path)
    return {
        column: np.array(
            [np.full(30, np.nan) if row is None else row for row in table[column]], np.float32
        )
        for column in table
    }


def write_opinions(opinions: dict[str, np.ndarray], path: Path) -> None:
    """Write scores as half-precision numbers, rows of NaN as missing."""
    table = pd.DataFrame(
        {
            model: [None if np.isnan(row).any() else row.astype(np.float16) for row in scores]
            for model, scores in opinions.items()
        }
    )
    with write_atomically(path) as temporary:
        table.to_parquet(temporary, compression="zstd", index=False)
