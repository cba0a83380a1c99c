"""CSV files read so that a broken row is named and never skipped.

A file cut inside the last number of its last row is the one damage that cannot be seen:
published files end without a line break.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from iac_lib.traces.errors import TraceError


def read_csv(path: str | Path, fields: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file with the number of the line on which each ends.

    Parameters
    ----------
    path : path
        UTF-8, with a header.
    fields : tuple of str
        Columns that must be there.

    Yields
    ------
    (int, dict)
        Line number from 1 (the header), and text by column.

    Raises
    ------
    TraceError
        If the file is empty, not UTF-8, cut, or a row has too few or too many fields.
    """
    source, row = str(path), 1
    with Path(path).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        try:
            header = reader.fieldnames
            if header is None:
                raise TraceError(source, "is empty; expected a header and rows")
            for field in fields:
                if field not in header:
                    raise TraceError(source, f"column {field} is missing", row=1, column=field)
            for record in reader:
                row = reader.line_num
                if None in record or None in record.values():
                    have = sum(v is not None for k, v in record.items() if k is not None)
                    have += len(record.get(None, ()))
                    problem = f"row has {have} fields, not {len(header)}; the file may be cut here"
                    raise TraceError(source, problem, row=row, column="fields", value=have)
                yield row, record
        except UnicodeDecodeError as error:
            value = error.object[error.start : error.start + 8]
            problem = "is not UTF-8 soon after this row; convert it"
            raise TraceError(source, problem, row=row, column="line", value=value) from error
        except csv.Error as error:
            problem = f"is not valid CSV, or cut here: {error}"
            raise TraceError(source, problem, row=reader.reader.line_num) from error
    if row == 1:
        raise TraceError(source, "has a header but no rows")
