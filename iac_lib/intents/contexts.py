"""Which requests are read and labelled by hand, and how they are shown to a reader.

Every context is of another conversation, so that no conversation is on both sides of a
split. Knows the queries, not the answers: the classifier does not see answers either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from iac_lib.traces.conversations import Conversations

CONTEXT_QUERIES = 4
STRATIFIED, RANDOM = 1000, 300
LENGTH_STRATA = 5


def choose_gold(conversations: Conversations, seed: int = 0) -> pd.DataFrame:
    """Choose the contexts that are labelled twice.

    1,000 contexts of turns one to four, as many of every turn and of every fifth of the
    lengths of the last query; then 300 requests of any turn, drawn uniformly, which show how
    often each intent occurs.

    Parameters
    ----------
    conversations : Conversations
        With ``user_text``.
    seed : int

    Returns
    -------
    DataFrame
        ``conversation_id, turn, sample`` with sample "stratified" or "random", shuffled.
    """
    rng = np.random.default_rng(seed)
    turns = conversations.turns[["conversation_id", "turn", "user_tokens"]]
    early = turns[turns["turn"] <= CONTEXT_QUERIES]
    quota = STRATIFIED // (CONTEXT_QUERIES * LENGTH_STRATA)
    taken: set[str] = set()
    chosen = []
    # Deep turns first: fewer conversations have them.
    for turn in range(CONTEXT_QUERIES, 0, -1):
        rows = early[early["turn"] == turn]
        stratum = pd.qcut(rows["user_tokens"].rank(method="first"), LENGTH_STRATA, labels=False)
        for number in range(LENGTH_STRATA):
            pool = rows[(stratum == number) & ~rows["conversation_id"].isin(taken)]
            drawn = pool.iloc[rng.permutation(len(pool))[:quota]]
            taken |= set(drawn["conversation_id"])
            chosen.append(drawn.assign(sample="stratified"))
    pool = turns[~turns["conversation_id"].isin(taken)]
    shuffled = pool.iloc[rng.permutation(len(pool))].drop_duplicates("conversation_id")
    chosen.append(shuffled.iloc[:RANDOM].assign(sample="random"))
    gold = pd.concat(chosen)[["conversation_id", "turn", "sample"]]
    return gold.iloc[rng.permutation(len(gold))].reset_index(drop=True)


def choose_training(
    conversations: Conversations, gold: pd.DataFrame, count: int, seed: int = 1
) -> pd.DataFrame:
    """Choose requests to label once, for training: one of each conversation, of any turn.

    They come from the first half of the conversations, which policies learn from, and never
    from a conversation of the gold set.

    Parameters
    ----------
    conversations : Conversations
    gold : DataFrame
        As `choose_gold` returns it.
    count : int
        How many to draw; fewer if the half does not hold as many.
    seed : int

    Returns
    -------
    DataFrame
        ``conversation_id, turn``, shuffled.
    """
    rng = np.random.default_rng(seed)
    turns = conversations.turns[["conversation_id", "turn"]]
    ids = turns["conversation_id"].unique()
    history = set(ids[: len(ids) // 2]) - set(gold["conversation_id"])
    pool = turns[turns["conversation_id"].isin(history)]
    shuffled = pool.iloc[rng.permutation(len(pool))].drop_duplicates("conversation_id")
    return shuffled.iloc[:count].reset_index(drop=True)


def show_context(queries: list[str], last_turn: int, earlier: int = 240, last: int = 700) -> str:
    """Return the last four queries as a reader sees them, each cut in the middle.

    Parameters
    ----------
    queries : list of str
        Up to four, the last one being of turn `last_turn`.
    last_turn : int
    earlier, last : int
        Characters kept of each earlier query, and of the last one.
    """
    first = last_turn - len(queries) + 1
    return "\n".join(
        f"[turn {first + i}] {cut_middle(' '.join(text.split()), limit)}"
        for i, (text, limit) in enumerate(
            zip(queries, [earlier] * (len(queries) - 1) + [last], strict=True)
        )
    )


def cut_middle(text: str, limit: int) -> str:
    """Return `text`, or two thirds of `limit` characters of its head and one of its tail."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail]} [...] {text[-tail:]}"
