"""What is said when a trace cannot be used: where, which value, what to do."""

from __future__ import annotations


class TraceError(ValueError):
    """Input that would make a replay wrong, refused before anything is written.

    Parameters
    ----------
    source : str
        File or data set the value came from.
    problem : str
        What is wrong and what to do about it, in one sentence.
    row : int or None
        Row (0-based request, or line number for text files) that is wrong.
    column, value
        The field and the offending value, when there is one.
    """

    def __init__(
        self,
        source: str,
        problem: str,
        *,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
    ) -> None:
        # NumPy's numbers would show as np.int64(3).
        value = value.item() if hasattr(value, "item") else value
        self.source, self.problem = str(source), problem
        self.row, self.column, self.value = row, column, value
        where = [self.source]
        if row is not None:
            where.append(f"row {row}")
        if column is not None:
            where.append(f"{column} = {value!r}")
        super().__init__(f"{': '.join(where)}: {problem}")
