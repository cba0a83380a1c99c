"""Learn from the shipped labels and predict for every request: ``make intents``.

Reads the labels in ``iac_lib/data/intents`` and the text of ``sharegpt-prefix``; writes the
classifier's and LPC's weights, their predictions for all requests, what each way of finding
intents says about the gold set, and how long each takes. Needs ``make models``. Labels of the
language model are taken from the shipped opinions: `intents.labeling` makes others.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.files import cache_directory, write_atomically
from iac_lib.intents.baselines import compare_descriptions, describe_intents
from iac_lib.intents.classifier import Head
from iac_lib.intents.classify import IntentClassifier, mark_window
from iac_lib.intents.contexts import CONTEXT_QUERIES
from iac_lib.intents.embedders import E5Small, Embedder, MiniLM, pool_requests
from iac_lib.intents.embedding_cache import embed_cached
from iac_lib.intents.evaluation import evaluate_levels
from iac_lib.intents.gold import load_gold, load_training
from iac_lib.intents.latency import measure_latency
from iac_lib.intents.opinions import QWEN, load_opinions, write_opinions
from iac_lib.intents.outside import load_outside
from iac_lib.intents.predicted import KEYS, STEPS
from iac_lib.intents.queries import mark_queries, window_rows
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.intents.training import train_head
from iac_lib.reuse.continuation import ContinuationPredictor, build_inputs, label_turns
from iac_lib.reuse.continuation_quality import area_under_curve, log_loss
from iac_lib.reuse.continuation_training import train_predictor
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.data import DataNotFound
from iac_lib.traces.sharegpt import load_sharegpt

INTENTS = load_taxonomy(30).names
SEEDS = 5
CURVE = (350, 700, 1400, 2800)


@dataclass(frozen=True)
class Labelled:
    """Labelled requests as rows of the data set.

    Parameters
    ----------
    gold : DataFrame
        `load_gold` with ``row`` and ``history``, true in the first half of the conversations.
    training : DataFrame
        ``row, code, conversation`` of what heads are trained on: the training labels and the
        gold contexts that are neither of the test part nor replayed.
    """

    gold: pd.DataFrame
    training: pd.DataFrame


def find_labelled(conversations: Conversations) -> Labelled:
    """Return the labelled requests among `conversations`."""
    codes = conversations.codes
    early = codes < len(conversations) // 2
    index = pd.MultiIndex.from_frame(conversations.turns[KEYS])

    def place(labels: pd.DataFrame) -> pd.DataFrame:
        row = index.get_indexer(pd.MultiIndex.from_frame(labels[KEYS]))
        if (row < 0).any():
            raise LookupError(f"{(row < 0).sum()} labels are of requests that are not there")
        return labels.assign(row=row, history=early[row], conversation=codes[row])

    gold = place(load_gold())
    used = [place(load_training()), gold[(gold["part"] == "train") & gold["history"]]]
    training = pd.concat(used, ignore_index=True)
    training["code"] = pd.Categorical(training["intent"], categories=INTENTS).codes
    return Labelled(gold, training[["row", "code", "conversation"]])


def embed_requests(
    embedder: Embedder, conversations: Conversations, rows: np.ndarray
) -> np.ndarray:
    """Return float32[n, d]: embeddings of the requests in `rows`, from their last four queries."""
    turns = conversations.turns
    first, last = (ends[rows] for ends in window_rows(turns["turn"].to_numpy()))
    needed = np.unique(np.concatenate([last - back for back in range(4)]))
    needed = needed[needed >= 0]
    chosen = turns.iloc[needed]
    means, tokens = embed_cached(embedder, mark_queries(chosen["user_text"], chosen["turn"]))
    return pool_requests(
        means, tokens, np.searchsorted(needed, first), np.searchsorted(needed, last)
    )


def learn_head(
    embedder: Embedder, conversations: Conversations, labelled: Labelled, seed: int = 0
) -> Head:
    """Return a head trained on the embeddings of `embedder` (IAC, A.1)."""
    training = labelled.training
    about = {
        "data": conversations.name,
        "labels": "one reader's, and gold labels outside the test part and the replayed half",
    }
    return train_head(
        embed_requests(embedder, conversations, training["row"].to_numpy()),
        training["code"].to_numpy(),
        INTENTS,
        embedder.key,
        about=about,
        conversations=training["conversation"].to_numpy(),
        seed=seed,
    ).head


def compare_ways(conversations: Conversations, labelled: Labelled) -> dict[str, np.ndarray]:
    """Return every model's scores for the gold set, by name, as `load_opinions` has them."""
    gold = labelled.gold
    unseen = ~gold["row"].isin(labelled.training["row"]).to_numpy()
    opinions = {QWEN: load_opinions()[QWEN]}
    for embedder in (E5Small(), MiniLM()):
        embeddings = embed_requests(embedder, conversations, gold["row"].to_numpy())
        taxonomy = load_taxonomy(30)
        described = describe_intents(taxonomy.names, taxonomy.descriptions)
        means, _ = embed_cached(embedder, described)
        opinions[f"{embedder.name} descriptions"] = compare_descriptions(embeddings, means)
        for seed in range(SEEDS):
            head = learn_head(embedder, conversations, labelled, seed)
            found = np.full((len(gold), len(INTENTS)), np.nan, np.float32)
            found[unseen] = head.probabilities(embeddings[unseen])
            opinions[f"{embedder.name} seed {seed}" if seed else embedder.name] = found
    return opinions


def measure_learning(conversations: Conversations, labelled: Labelled) -> pd.DataFrame:
    """Return how accurate a head on e5-small is on the test part, by the labels it learned from."""
    gold = labelled.gold[labelled.gold["part"] == "test"]
    embedder = E5Small()
    embeddings = embed_requests(embedder, conversations, gold["row"].to_numpy())
    order = np.random.default_rng(0).permutation(len(labelled.training))
    rows = []
    for count in (*CURVE, len(order)):
        few = replace(labelled, training=labelled.training.iloc[np.sort(order[:count])])
        head = learn_head(embedder, conversations, few)
        scores = evaluate_levels(
            gold["intent"].cat.codes.to_numpy(), head.probabilities(embeddings)
        )
        rows.append(scores[scores["merged_by"] == "sum"].assign(labels=count))
    return pd.concat(rows)


def predict_outside(head: Head) -> pd.DataFrame:
    """Return the intents of other people's requests (see `intents.outside`)."""
    requests = load_outside()
    queries = [q[-CONTEXT_QUERIES:] for q in requests["queries"]]
    marked = [mark_window(q, t) for q, t in zip(queries, requests["turn"], strict=True)]
    means, tokens = embed_cached(E5Small(), [text for window in marked for text in window])
    last = np.cumsum([len(window) for window in marked]) - 1
    first = last - np.array([len(window) for window in marked]) + 1
    codes = head.logits(pool_requests(means, tokens, first, last)).argmax(axis=1)
    return requests.drop(columns="queries").assign(intent=[INTENTS[code] for code in codes])


def learn_continuation(
    conversations: Conversations, seed: int = 0
) -> tuple[ContinuationPredictor, np.ndarray, dict]:
    """Return LPC's predictor, its scores for all requests, and how good they are.

    It learns from the first half of the conversations and is judged on the other.
    """
    turns = conversations.turns
    embedder = E5Small()
    means, tokens = embed_cached(embedder, mark_queries(turns["user_text"], turns["turn"]))
    inputs = build_inputs(means, tokens, turns["turn"].to_numpy())
    followed, codes = label_turns(conversations), conversations.codes
    history = codes < len(conversations) // 2
    predictor = train_predictor(
        inputs[history], followed[history], codes[history], embedder.key,
        about={"data": f"{conversations.name}, first half"}, seed=seed,
    ).predictor  # fmt: skip
    scores = predictor.score(inputs)
    turn = turns["turn"].clip(upper=64)
    by_turn = turn.map(pd.Series(followed[history]).groupby(turn[history].to_numpy()).mean())
    judged = {"requests": int((~history).sum())}
    for name, values in {"learned": scores, "by turn": by_turn.fillna(0.5).to_numpy()}.items():
        truth, guess = followed[~history], values[~history]
        judged[name] = {"auc": area_under_curve(truth, guess), "log_loss": log_loss(truth, guess)}
    return predictor, scores, judged


def time_parts(conversations: Conversations, head: Head, lpc: ContinuationPredictor):
    """Return how long embedders and heads take on one thread, and on which processor."""
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    turns = conversations.turns.sample(4000, random_state=0)
    texts = mark_queries(turns["user_text"], turns["turn"])
    vectors = rng.normal(size=(100, head.dimension + 1)).astype(np.float32)
    small, mini = E5Small(), MiniLM()
    classifier = IntentClassifier(small, head)

    def pick(batch: int, run: int) -> list[str]:
        return [texts[(run * batch + i) % len(texts)] for i in range(batch)]

    actions = {
        "e5-small, embed one query each": lambda batch, run: small.embed(pick(batch, run)),
        "minilm, embed one query each": lambda batch, run: mini.embed(pick(batch, run)),
        "intent head": lambda batch, run: head.probabilities(vectors[:batch, :-1]),
        "LPC head": lambda batch, run: lpc.score(vectors[:batch]),
        "e5-small and head, whole": lambda batch, run: classifier.predict(
            [[text] for text in pick(batch, run)], [1] * batch
        ),
    }
    return measure_latency(actions).assign(machine=f"{name_processor()}, one thread")


def name_processor() -> str:
    """Return what this machine calls its processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


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


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table."""
    with write_atomically(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def write_json(path: Path, content: dict) -> None:
    """Write a card."""
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Learn, predict, compare and write; about half an hour on 2 cores the first time."""
    parser = argparse.ArgumentParser(prog="python -m iac_lib.learn", description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=cache_directory() / "intents", help="default: %(default)s"
    )
    folder = parser.parse_args(arguments).output
    weights = cache_directory() / "intents"
    conversations = load_sharegpt()
    labelled = find_labelled(conversations)
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
