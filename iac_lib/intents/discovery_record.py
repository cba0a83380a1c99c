"""The discovery run whose answers come with the kit.

A large hosted assistant answered the questions of `iac_lib.intents.tnt_llm` once, through the
files of `iac_lib.llm.batch`, for 120 requests of ``sharegpt-prefix``. The record holds hashes
and answers, no text of users: the same data set, settings and prompts ask the same questions
again. Its token counts are estimates, four characters to a token, as the files carried none.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import pandas as pd

from iac_lib.intents.gold import load_gold
from iac_lib.intents.tnt_llm import Settings
from iac_lib.llm.recorded import RecordedLLM

MODEL = "hosted-assistant"
REQUESTS = 120
SETTINGS = Settings(batch=30, most=30, rarest=0.015)


def choose_discovery() -> pd.DataFrame:
    """Return the requests that were asked about, with their gold labels, as `load_gold`.

    They are the first 120 of those drawn uniformly, without the test part: classes made from
    a request are not judged by it.
    """
    gold = load_gold()
    chosen = (gold["sample"] == "random") & (gold["part"] == "train")
    return gold[chosen].head(REQUESTS).reset_index(drop=True)


def load_discovery() -> RecordedLLM:
    """Return the model that answers from the record."""
    with as_file(files("iac_lib") / "data" / "intents" / "discovery.parquet") as path:
        return RecordedLLM(path, name=MODEL)
