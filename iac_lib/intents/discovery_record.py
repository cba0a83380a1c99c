"""The discovery run whose answers come with the kit.

A large hosted assistant answered the questions of `iac_lib.intents.tnt_llm` once, through the
files of `iac_lib.llm.batch`, for 120 requests of ``sharegpt-prefix``. The record holds hashes
and answers, no text of users: the same data set, settings and prompts ask the same questions
again. Its token counts are estimates, four characters to a token, as the files carried none.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import pandas as pd

from iac_lib.files import cache_directory
from iac_lib.intents.gold import load_gold
from iac_lib.intents.tnt_llm import Settings
from iac_lib.llm.openai_api import OpenAILLM
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


def load_discovery(url: str | None = None, model: str | None = None) -> RecordedLLM:
    """Return the model that answers from the record, or one behind a URL.

    Parameters
    ----------
    url : str or None
        Of a vLLM server, up to ``/v1``. Its answers are kept in the cache folder, so that a
        run that was killed goes on where it was.
    model : str or None
        Name under which the server serves the model; needed with a URL.
    """
    if url is None:
        with as_file(files("iac_lib") / "data" / "intents" / "discovery.parquet") as path:
            return RecordedLLM(path, name=MODEL)
    # For models that reason before they answer, such as the paper's gpt-oss-120b.
    reasoning = {"thinking_tokens": 2048, "extra": {"reasoning_effort": "low"}}
    served = OpenAILLM(url, model, structured="vllm", **reasoning)
    return RecordedLLM(cache_directory() / "discovery.jsonl", inner=served)
