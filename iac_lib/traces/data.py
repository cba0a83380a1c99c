"""The real traces: which there are, where they lie here, where the world finds them.

They are never part of the package. A reader downloads what a notebook wants into one
folder and names it in the environment variable ``IAC_DATA``. Knows nothing of what is
inside the files, and needs nothing but the standard library: the doctor runs before
anything is installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "IAC_DATA"


@dataclass(frozen=True)
class DataSet:
    """One folder below ``IAC_DATA``.

    Parameters
    ----------
    holds : str
        What is in it, in a few words.
    url : str
        Where its files are published, at the commit that the tests know.
    licence : str
        Terms under which they are published.
    files : dict of str to str
        Published path, relative to `url`, of each file by its name in the folder.
    """

    holds: str
    url: str
    licence: str
    files: dict[str, str]


RAGPULSE_FILES = (
    "0_trace.jsonl",
    "1_sys_prompt.jsonl",
    "2_passages.jsonl",
    "3_history.jsonl",
    "4_user_input.jsonl",
    "5_web_search.jsonl",
)
DATA_SETS = {
    "azure-llm-2023": DataSet(
        "arrivals of an LLM service",
        "https://github.com/Azure/AzurePublicDataset/raw/b469a11",
        "CC-BY-4.0",
        {"conv.csv": "data/AzureLLMInferenceTrace_conv.csv"},
    ),
    "claude-code": DataSet(
        "coding-agent sessions",
        "https://github.com/callanjfox/kv-cache-tester/raw/94f6046",
        "Apache-2.0",
        # One session a line; published as one file a session.
        {"traces.jsonl.gz": "traces/trace_[0001-0178].json"},
    ),
    "intents": DataSet(
        "labelled intents",
        "https://github.com",
        "CC-BY-3.0 (CLINC150), Apache-2.0 (MT-bench)",
        {
            "clinc150_full.json": "clinc/oos-eval/raw/master/data/data_full.json",
            "clinc150_domains.json": "clinc/oos-eval/raw/master/data/domains.json",
            "mt_bench_question.jsonl": (
                "lm-sys/FastChat/raw/main/fastchat/llm_judge/data/mt_bench/question.jsonl"
            ),
        },
    ),
    "mooncake": DataSet(
        "block traces",
        "https://github.com/kvcache-ai/Mooncake/raw/3b5a594",
        "Apache-2.0",
        {"conversation_trace.jsonl": "FAST25-release/traces/conversation_trace.jsonl"},
    ),
    "ragpulse": DataSet(
        "a chat assistant with retrieval",
        "https://github.com/flashserve/RAGPulse/raw/3672232",
        "MIT",
        {name: f"data/{name}" for name in RAGPULSE_FILES},
    ),
    "realhumaneval": DataSet(
        "programmers' chats with delays",
        "https://github.com/clinicalml/realhumaneval/raw/29de154",
        "CC0",
        {"chat_data.csv": "data/chat_data.csv"},
    ),
}
"""Data sets by folder, as notebooks and loaders ask for them."""


class DataNotFound(FileNotFoundError):
    """A real trace that is not on this machine; the message says where to get it."""


def find_data(name: str) -> Path:
    """Return the path of a data file.

    Parameters
    ----------
    name : str
        Folder and file below ``IAC_DATA``, such as
        ``mooncake/conversation_trace.jsonl``.

    Raises
    ------
    DataNotFound
        If ``IAC_DATA`` is not set or the file is not below it; says what to set, where
        to download the file and under which licence.
    """
    folder = os.environ.get(VARIABLE)
    if folder and (path := Path(folder, name)).is_file():
        return path
    lacks = f"{folder} has no {name}" if folder else f"{name} needs {VARIABLE}, which is not set"
    raise DataNotFound(f"{lacks}; {tell_download(name)}")


def tell_download(name: str) -> str:
    """Return a sentence that says how to get the data file `name`."""
    data_set, _, file = name.partition("/")
    known = DATA_SETS.get(data_set)
    if known is None or file not in known.files:
        return f"set {VARIABLE} to the folder that holds it"
    published = f"{known.url}/{known.files[file]}"
    return (
        f"download {published} ({known.licence}), save it as {name} in a folder of your "
        f"choice and set {VARIABLE} to that folder"
    )
