"""Traces as Parquet files that read back exactly as they were.

Requests are rows; block ids and tokens are list columns; name, block size, categories
and the version of this layout are in the file's metadata. Any Parquet reader opens them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.files import write_atomically
from iac_lib.traces.errors import TraceError
from iac_lib.traces.schema import COLUMNS, Blocks, Trace

KEY, VERSION = b"iac-trace", 1
CATEGORICAL = [name for name, dtype in COLUMNS.items() if dtype == "category"]


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write `trace` to a Parquet file, atomically.

    Parameters
    ----------
    trace : Trace
        Its ids must be whole numbers or strings, one kind per column.
    path : path
        File to write.

    Raises
    ------
    TraceError
        If ids are of a kind that Parquet has no column for.
    """
    columns = {}
    for name in COLUMNS:
        values = trace.requests[name]
        if name in CATEGORICAL:
            values = values.astype(object)
        try:
            columns[name] = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            problem = f"cannot be stored; use whole numbers or strings ({error})"
            raise TraceError(trace.name, problem, column=name, value=values.iloc[0]) from error
    blocks = trace.blocks
    if blocks is not None:
        starts = pa.array(blocks.starts, pa.int64())
        columns["block_ids"] = pa.LargeListArray.from_arrays(starts, pa.array(blocks.ids))
        columns["block_tokens"] = pa.LargeListArray.from_arrays(starts, pa.array(blocks.tokens))
    about = {
        "version": VERSION,
        "name": trace.name,
        "block_size": blocks.size if blocks is not None else None,
        "categories": {c: trace.requests[c].cat.categories.tolist() for c in CATEGORICAL},
        "notes": trace.notes,
    }
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about)})
    with write_atomically(path) as temporary:
        # Checksums, because a flipped bit in a number would otherwise read as another number.
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_trace(path: str | Path) -> Trace:
    """Return the trace that `write_trace` wrote, validated again.

    Parameters
    ----------
    path : path
        File to read.

    Raises
    ------
    TraceError
        If the file is truncated, no Parquet file, or not a trace of a known version.
    FileNotFoundError
        If there is none.
    """
    source = str(path)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        about = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TraceError(source, f"is no whole Parquet file; write it again ({error})") from error
    version = about.get("version") if isinstance(about, dict) else None
    if version != VERSION:
        problem = f"is not a trace of version {VERSION}; write it with write_trace"
        raise TraceError(source, problem, column="version", value=version)
    try:
        name, notes = about["name"], about["notes"]
        requests, blocks = restore(table, about)
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise TraceError(source, f"is damaged; write it again ({error!r})") from error
    return Trace(name, requests, blocks, source, notes)


def restore(table: pa.Table, about: dict) -> tuple[pd.DataFrame, Blocks | None]:
    """Return the requests and blocks that a stored table holds; `KeyError` if it is another."""
    if foreign := set(table.column_names) - {*COLUMNS, "block_ids", "block_tokens"}:
        raise KeyError(", ".join(sorted(foreign)))
    requests = pd.DataFrame({n: table[n].to_pandas() for n in COLUMNS if n in table.column_names})
    for column, categories in about["categories"].items():
        requests[column] = pd.Categorical(requests[column], categories=categories)
    blocks = None
    if "block_ids" in table.column_names:
        ids, tokens = (table[c].combine_chunks() for c in ("block_ids", "block_tokens"))
        lengths = ids.value_lengths().to_numpy(zero_copy_only=False)
        blocks = Blocks(
            ids.flatten().to_numpy().astype(np.int64),
            tokens.flatten().to_numpy().astype(np.int32),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            about["block_size"],
        )
    return requests, blocks
