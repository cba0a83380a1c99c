"""How long embedders and heads take here, on one thread."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np

from iac_lib.intents.classifier import Head
from iac_lib.intents.classify import IntentClassifier
from iac_lib.intents.embedders import E5Small, MiniLM
from iac_lib.intents.latency import measure_latency
from iac_lib.intents.queries import mark_queries
from iac_lib.reuse.continuation import ContinuationPredictor
from iac_lib.traces.conversations import Conversations


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
