"""Where published chats are read from: Parquet files on disk, or the Hugging Face hub.

Both come as Arrow tables of a thousand rows, so that a data set of any size passes through
memory piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.traces.errors import TraceError

ROWS = 1000


class Part(NamedTuple):
    """Some rows of a data set; `first_row` is the number of the first in `source`."""

    source: str
    first_row: int
    table: pa.Table


def find_local(source: str | Path, suffix: str = ".parquet") -> list[Path] | None:
    """Return the files that `source` names (a file or a folder), None if it is a hub name.

    Raises
    ------
    TraceError
        If a folder holds no such file, or `source` ends like a file and does not exist.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(path.rglob(f"*{suffix}"))
        if not files:
            raise TraceError(str(path), f"holds no {suffix} files")
        return files
    if path.is_file():
        return [path]
    if isinstance(source, Path) or path.suffix in (".parquet", ".csv"):
        raise TraceError(str(path), "does not exist")
    return None


def read_parts(source: str | Path, columns: list[str], *, stream: bool) -> Iterator[Part]:
    """Yield the rows of Parquet files, or of a data set on the hub, in order.

    Parameters
    ----------
    source : path or str
        A Parquet file, a folder of them, or the name of a data set on the hub.
    columns : list of str
        Those that are needed.
    stream : bool
        Fetch from the hub only what is read, rather than download everything first.

    Raises
    ------
    TraceError
        If a file is no Parquet or lacks a column, or the hub cannot be read.
    """
    files = find_local(source)
    if files is None:
        yield from read_hub(str(source), columns, stream=stream)
    else:
        for path in files:
            yield from read_parquet(path, columns)


def read_parquet(path: Path, columns: list[str]) -> Iterator[Part]:
    """Yield the rows of one Parquet file, row group by row group."""
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            require_columns(file.schema_arrow, columns, str(path))
            for batch in file.iter_batches(ROWS, columns=columns):
                yield Part(str(path), row, pa.Table.from_batches([batch]))
                row += len(batch)
    except (pa.ArrowException, OSError) as error:
        raise TraceError(str(path), f"is damaged or no Parquet file: {error}", row=row) from error


def read_hub(
    name: str, columns: list[str], *, stream: bool, config: str | None = None
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
            require_columns(table.schema, columns, name)
            yield Part(name, row, table.select(columns))
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


def require_columns(schema: pa.Schema, columns: list[str], source: str) -> None:
    """Raise unless `schema` has all `columns`."""
    missing = [column for column in columns if column not in schema.names]
    if missing:
        problem = f"column(s) {', '.join(missing)} missing; it has {', '.join(schema.names)}"
        raise TraceError(source, problem)
