"""Azure's LLM inference trace: when requests arrived and how long they were.

It knows no conversations and no shared prefixes: every request is a conversation of its
own. Good for arrival processes, useless for hit rates.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.traces.csvs import read_csv
from iac_lib.traces.data import find_data
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import parse_number
from iac_lib.traces.schema import Trace

FIELDS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


def load_azure(path: str | Path | None = None) -> Trace:
    """Return the Azure LLM inference trace of 2023, chat part.

    Parameters
    ----------
    path : path or None
        CSV with ``TIMESTAMP``, ``ContextTokens``, ``GeneratedTokens``; None looks below
        ``IAC_DATA``.

    Returns
    -------
    Trace
        Named ``azure-llm-2023``, single turns, ``arrival_s`` from the first request.

    Raises
    ------
    DataNotFound
        If `path` is None and the data are not on this machine.
    TraceError
        For a damaged file or a value that cannot be replayed.

    Notes
    -----
    Source: github.com/Azure/AzurePublicDataset (CC-BY-4.0).
    """
    path = find_data("azure-llm-2023/conv.csv") if path is None else Path(path)
    source, records, first, before = str(path), [], None, 0.0
    for row, record in read_csv(path, FIELDS):
        instant = parse_instant(record["TIMESTAMP"], source, row)
        first = instant if first is None else first
        time = (instant - first).total_seconds()
        if time < before:
            problem = "is earlier than the row before; sort by time"
            value = record["TIMESTAMP"]
            raise TraceError(source, problem, row=row, column="TIMESTAMP", value=value)
        before = time
        tokens = parse_number(record, "ContextTokens", int, source, row, least=1)
        answer = parse_number(record, "GeneratedTokens", int, source, row, least=0)
        records.append((time, tokens, answer))
    requests = pd.DataFrame(records, columns=["arrival_s", "input_tokens", "output_tokens"])
    numbers = np.arange(len(requests))
    requests = requests.assign(request_id=numbers, conversation_id=numbers, turn=1)
    return Trace("azure-llm-2023", requests, source=source)


def parse_instant(text: str, source: str, row: int) -> datetime:
    """Return the time that `text` names, to the microsecond."""
    try:
        # Python 3.10 reads six decimals at most; the file has seven.
        return datetime.fromisoformat(text[:26])
    except ValueError as error:
        problem = "must be a time such as 2023-11-16 18:15:46.680590"
        raise TraceError(source, problem, row=row, column="TIMESTAMP", value=text) from error
