"""Ways of finding intents, judged side by side on the gold set's test part (IAC, Table 1).

Computes from the kept scores of `opinions`; asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from iac_lib.intents.calibration import log_probabilities
from iac_lib.intents.evaluation import evaluate_levels
from iac_lib.intents.gold import load_gold, load_training
from iac_lib.intents.hybrid import TEMPERATURES, log_softmax, mix, tune_mixture
from iac_lib.intents.opinions import QWEN, load_opinions

# Of a head's probabilities, which are far too sure of themselves.
HEAD_TEMPERATURES = (1.0, 2.0, 3.0, 4.0)


def score_classifier(model: str = "e5-small") -> pd.DataFrame:
    """Return a trained head's scores on the test part at 30, 20 and 10 intents.

    Parameters
    ----------
    model : str
        A model of `load_opinions` whose scores are probabilities.

    Returns
    -------
    DataFrame
        As `evaluation.evaluate_levels`; groups are those of the most probable intent.
    """
    gold = load_gold()
    test = (gold["part"] == "test").to_numpy()
    codes = gold.loc[test, "intent"].cat.codes.to_numpy()
    scores = evaluate_levels(codes, load_opinions()[model][test])
    return scores[scores["merged_by"] == "class"].drop(columns="merged_by")


def compare_models() -> pd.DataFrame:
    """Score every way of finding intents on the test part.

    Mixtures are tuned on contexts outside it: those that the language model was asked about
    and, where the head takes part, that the head had not learned from.

    Returns
    -------
    DataFrame
        ``model`` and the columns of `evaluation.evaluate_levels`, best guesses by the most
        probable class.
    """
    gold, opinions = load_gold(), load_opinions()
    codes = gold["intent"].cat.codes.to_numpy()
    test = (gold["part"] == "test").to_numpy()
    heads = {name: log_probabilities(opinions[name]) for name in ("e5-small", "minilm")}
    asked, similar = opinions[QWEN], opinions["e5-small descriptions"]
    ways = {
        "e5-small + MLP, and Qwen 1.5B (ours)": mix_tuned(
            asked, heads["e5-small"], codes, test, HEAD_TEMPERATURES
        ),
        "e5-small + MLP": heads["e5-small"],
        "minilm + MLP": heads["minilm"],
        "Qwen 1.5B and descriptions": mix_tuned(asked, similar, codes, test, TEMPERATURES),
        "Qwen 1.5B, few-shot": asked,
        "nearest description, minilm": opinions["minilm descriptions"],
        "nearest description, e5-small": similar,
    }
    parts = [
        evaluate_levels(codes[test], np.exp(log_softmax(scores[test]))).assign(model=name)
        for name, scores in ways.items()
    ]
    commonest = np.zeros((int(test.sum()), 30))
    commonest[:, np.bincount(load_training()["intent"].cat.codes).argmax()] = 1
    parts.append(evaluate_levels(codes[test], commonest).assign(model="always the commonest"))
    table = pd.concat(parts, ignore_index=True)
    return table[table["merged_by"] == "class"].drop(columns="merged_by").reset_index(drop=True)


def mix_tuned(
    first: np.ndarray,
    second: np.ndarray,
    codes: np.ndarray,
    test: np.ndarray,
    temperatures: Sequence[float],
) -> np.ndarray:
    """Return float64[n, 30]: the mixture of two models, tuned where both spoke and not on `test`.

    Rows on which either said nothing are NaN.
    """
    spoke = ~np.isnan(first).any(axis=1) & ~np.isnan(second).any(axis=1)
    tune = spoke & ~test
    mixture = tune_mixture(first[tune], second[tune], codes[tune], temperatures=temperatures)
    mixed = np.full(first.shape, np.nan)
    mixed[spoke] = mix(first[spoke], second[spoke], mixture)
    return mixed


def compare_seeds() -> pd.DataFrame:
    """Return the scores of heads that differ by their seed only, as `compare_models` does."""
    names = [name for name in load_opinions() if not name.endswith("descriptions") and name != QWEN]
    return pd.concat(
        [score_classifier(name).assign(model=name.partition(" seed")[0]) for name in names]
    )


def set_beside_paper(scores: pd.DataFrame, reported: str | Path) -> pd.DataFrame:
    """Return `scores` with the paper's accuracy of the same embedder, where it has one.

    Parameters
    ----------
    scores : DataFrame
        From `compare_models`.
    reported : path
        ``reported.yaml``.
    """
    said = yaml.safe_load(Path(reported).read_text(encoding="utf-8"))["iac"]["embedders"]
    paper = {"e5-small + MLP": said["e5_small"]["accuracy"] / 100}
    others = pd.DataFrame(
        [
            {"model": f"{name.replace('_', '-')} + MLP (paper only)", "classes": 30,
             "paper": row["accuracy"] / 100}
            for name, row in said.items()
            if name != "e5_small"
        ]
    )  # fmt: skip
    return pd.concat([scores.assign(paper=scores["model"].map(paper)), others], ignore_index=True)
