"""Train LPC's predictor on the first half of the conversations and judge it on the other."""

from __future__ import annotations

import numpy as np
import pandas as pd

from iac_lib.intents.embedders import E5Small
from iac_lib.intents.embedding_cache import embed_cached
from iac_lib.intents.queries import mark_queries
from iac_lib.reuse.continuation import ContinuationPredictor, build_inputs, label_turns
from iac_lib.reuse.continuation_quality import area_under_curve, log_loss
from iac_lib.reuse.continuation_training import train_predictor
from iac_lib.traces.conversations import Conversations


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
