"""Other people's labelled requests, to see what a classifier does outside its own source.

Their labels are not the thirty intents: ``data/intents/outside.yaml`` says which intents count
as right for which label. Knows requests and labels, no classifier.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from iac_lib.traces.data import find_data
from iac_lib.traces.realhumaneval import load_realhumaneval


@cache
def load_equivalents() -> dict[str, dict[str, list[str]]]:
    """Return, by source and label, the intents that count as right."""
    path = files("iac_lib") / "data" / "intents" / "outside.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def load_outside() -> pd.DataFrame:
    """Return the requests of CLINC150 (test part), MT-bench and RealHumanEval.

    Returns
    -------
    DataFrame
        ``source, label, queries`` (list of str, oldest first), ``turn``.

    Raises
    ------
    DataNotFound
        If ``IAC_DATA`` lacks one of them.
    """
    clinc = json.loads(find_data("intents/clinc150_full.json").read_text(encoding="utf-8"))
    rows = [("clinc150", label, [text], 1) for text, label in clinc["test"]]
    lines = find_data("intents/mt_bench_question.jsonl").read_text(encoding="utf-8").splitlines()
    for question in map(json.loads, lines):
        turns = question["turns"]
        rows += [("mt-bench", question["category"], turns[:t], t) for t in range(1, len(turns) + 1)]
    for _, chat in load_realhumaneval().turns.groupby("conversation_id", sort=False):
        texts = chat["user_text"].tolist()
        rows += [("realhumaneval", "coding", texts[:t], t) for t in range(1, len(texts) + 1)]
    table = pd.DataFrame(rows, columns=["source", "label", "queries", "turn"])
    used = [label in load_equivalents()[source] for source, label, *_ in rows]
    return table[used].reset_index(drop=True)


def judge(found: pd.DataFrame) -> pd.DataFrame:
    """Return how often the predicted intent counts as right, by source and label.

    Parameters
    ----------
    found : DataFrame
        ``source, label, intent`` (predicted), one row per request.

    Returns
    -------
    DataFrame
        ``source, label, right`` (share), ``requests``, and ``commonest``, the intent that was
        predicted most often.
    """
    equivalents = load_equivalents()
    right = [
        i in equivalents[s][label]
        for s, label, i in found[["source", "label", "intent"]].to_numpy()
    ]
    groups = found.assign(right=np.array(right)).groupby(["source", "label"], sort=False)
    table = groups["right"].agg(right="mean", requests="size")
    table["commonest"] = groups["intent"].agg(lambda intents: intents.mode()[0])
    return table.reset_index()


def load_found(path: Path | None = None) -> pd.DataFrame:
    """Return what the classifier predicted for them: ``source, label, turn, intent``.

    Parameters
    ----------
    path : Path or None
        A file that `python -m iac_lib.learn` wrote; None is the one that comes with the kit.
    """
    shipped = files("iac_lib") / "data" / "intents" / "outside.parquet"
    return pd.read_parquet(path if path is not None else str(shipped))
