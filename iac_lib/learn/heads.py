"""Train intent heads, compare them on the gold set and outside, and see what labels are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from iac_lib.intents.baselines import compare_descriptions, describe_intents
from iac_lib.intents.classifier import Head
from iac_lib.intents.classify import mark_window
from iac_lib.intents.contexts import CONTEXT_QUERIES
from iac_lib.intents.embedders import E5Small, Embedder, MiniLM, pool_requests
from iac_lib.intents.embedding_cache import embed_cached
from iac_lib.intents.evaluation import evaluate_levels
from iac_lib.intents.opinions import QWEN, load_opinions
from iac_lib.intents.outside import load_outside
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.intents.training import train_head
from iac_lib.learn.labelled import INTENTS, Labelled, embed_requests
from iac_lib.traces.conversations import Conversations

SEEDS = 5
CURVE = (350, 700, 1400, 2800)


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
