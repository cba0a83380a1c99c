"""Where published chats are read from: Parquet or CSV files, or the Hugging Face hub.

All come as Arrow tables of a thousand rows, so that a data set of any size passes through
memory piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.traces.errors import TraceError

ROWS = 1000


class Part(NamedTuple):
    """Some rows of a data set; `first_row` is the number of the first in `source`."""

    source: str
    first_row: int
    table: pa.Table


def find_files(source: str | Path) -> list[Path] | None:
    """Return the files that `source` names (a file or a folder), None if it is a hub name.

    Raises
    ------
    TraceError
        If a folder holds no such file, or `source` looks like a file and does not exist.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in READERS)
        if not files:
            raise TraceError(str(path), f"holds no {' or '.join(READERS)} files")
        return files
    if path.is_file():
        return [path]
    if isinstance(source, Path) or path.suffix in READERS:
        raise TraceError(str(path), "does not exist")
    return None


def read_parts(
    source: str | Path,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    *,
    stream: bool,
    config: str | None = None,
) -> Iterator[Part]:
    """Yield the rows of files, or of a data set on the hub, in order.

    Parameters
    ----------
    source : path or str
        A Parquet or CSV file, a folder of them, or the name of a data set on the hub.
    columns, optional : sequence of str
        Those that are needed, and those that are read where they are there.
    stream : bool
        Fetch from the hub only what is read, rather than download everything first.
    config : str or None
        Which part of the data set on the hub.

    Raises
    ------
    TraceError
        If a file is damaged or lacks a column, or the hub cannot be read.
    """
    files = find_files(source)
    if files is None:
        yield from read_hub(str(source), columns, optional, stream=stream, config=config)
        return
    for path in files:
        yield from READERS.get(path.suffix, read_parquet)(path, columns, optional)


def read_parquet(path: Path, columns: Sequence[str], optional: Sequence[str]) -> Iterator[Part]:
    """Yield the rows of one Parquet file, row group by row group."""
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            chosen = choose_columns(file.schema_arrow.names, columns, optional, str(path))
            for batch in file.iter_batches(ROWS, columns=chosen):
                yield Part(str(path), row, pa.Table.from_batches([batch]))
                row += len(batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TraceError(str(path), f"is damaged or no Parquet file: {error}", row=row) from error


def read_csv(path: Path, columns: Sequence[str], optional: Sequence[str]) -> Iterator[Part]:
    """Yield the rows of one CSV file, every value as text, an empty one as null."""
    row = 0
    options = {"encoding": "utf-8", "dtype": str, "na_values": [""], "keep_default_na": False}
    try:
        names = pd.read_csv(path, nrows=0, **options).columns
        chosen = choose_columns(names, columns, optional, str(path))
        with pd.read_csv(path, usecols=chosen, chunksize=ROWS, **options) as reader:
            for frame in reader:
                schema = pa.schema([(name, pa.large_string()) for name in chosen])
                yield Part(str(path), row, pa.Table.from_pandas(frame, schema, False))
                row += len(frame)
    except UnicodeDecodeError as error:
        value = error.object[error.start : error.start + 10]
        problem = f"is not UTF-8 ({value!r}) in this row or one of the next {ROWS}; convert it"
        raise TraceError(str(path), problem, row=row) from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OSError) as error:
        raise TraceError(str(path), f"is damaged or no CSV file: {error}", row=row) from error


READERS = {".parquet": read_parquet, ".csv": read_csv}


def read_hub(
    name: str,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    *,
    stream: bool,
    config: str | None = None,
) -> Iterator[Part]:
    """Yield the rows of the split ``train`` of a data set on the Hugging Face hub."""
    try:
        from datasets import load_dataset
    except ImportError as error:
        problem = "needs the package datasets; run: pip install 'iac-lib[datasets]'"
        raise TraceError(name, problem) from error
    row = 0
    try:
        rows = load_dataset(name, config, split="train", streaming=stream)
        for table in rows.with_format("arrow").iter(ROWS):
            chosen = choose_columns(table.schema.names, columns, optional, name)
            yield Part(name, row, table.select(chosen))
            row += len(table)
    except TraceError:
        raise
    except Exception as error:
        # Whatever went wrong (no network, no licence accepted, a changed data set), the way
        # out is the same.
        problem = (
            f"could not be read from the Hugging Face hub ({type(error).__name__}: {error}); "
            "check the network, accept its licence there and log in, or pass its files' folder"
        )
        raise TraceError(name, problem, row=row or None) from error


def choose_columns(
    names: Sequence[str], columns: Sequence[str], optional: Sequence[str], source: str
) -> list[str]:
    """Return `columns` and what there is of `optional`; raise if one of `columns` is missing."""
    missing = [column for column in columns if column not in names]
    if missing:
        problem = f"column(s) {', '.join(missing)} missing; it has {', '.join(names)}"
        raise TraceError(source, problem)
    return [*columns, *(column for column in optional if column in names)]
