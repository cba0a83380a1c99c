"""Let the offline language model name clusters of requests: discovery that fits a laptop.

The record that notebook 02 shows; a quarter of an hour on one core.
"""

from __future__ import annotations

import pandas as pd

from iac_lib.intents.cluster_naming import name_clusters
from iac_lib.intents.embedders import E5Small
from iac_lib.intents.gold import load_training
from iac_lib.intents.labeling import show_requests
from iac_lib.intents.opinions import QWEN
from iac_lib.learn.labelled import INTENTS, Labelled, embed_requests
from iac_lib.llm.local import open_local
from iac_lib.traces.conversations import Conversations

REQUESTS, CLUSTERS = 1000, 30


def record_clusters(conversations: Conversations, labelled: Labelled) -> pd.DataFrame:
    """Cluster the first training requests, have the clusters named, and compare with labels.

    Returns
    -------
    DataFrame
        ``name, description, requests``, and the ``commonest_label`` of a reader among them
        with its share, ``purity``; largest class first. Requests of clusters that got no
        usable name are in a row without a name.
    """
    chosen = load_training().head(REQUESTS)
    texts = show_requests(conversations, chosen)["text"].tolist()
    rows = labelled.training.iloc[:REQUESTS]
    embeddings = embed_requests(E5Small(), conversations, rows["row"].to_numpy())
    named = name_clusters(open_local(QWEN), texts, embeddings, CLUSTERS, workers=1)
    labels = pd.Series([INTENTS[code] for code in rows["code"]])
    table = []
    for code, members in labels.groupby(named.codes):
        counts = members.value_counts()
        known = named.classes[code] if code >= 0 else None
        table.append(
            {
                "name": known.name if known else None,
                "description": known.description if known else None,
                "requests": len(members),
                "commonest_label": counts.index[0],
                "purity": counts.iloc[0] / len(members),
            }
        )
    return pd.DataFrame(table).sort_values("requests", ascending=False, ignore_index=True)
