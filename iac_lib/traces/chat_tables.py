"""Tables with a whole conversation in every row, as WildChat and LMSys-Chat have them.

The column ``conversation`` is a list of messages, each with ``role``, ``content`` and what
else the data set knows of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iac_lib.traces.chat_files import Part
from iac_lib.traces.chat_times import read_times
from iac_lib.traces.chat_turns import Chat
from iac_lib.traces.errors import TraceError
from iac_lib.traces.pairing import Message

CONVERSATION = "conversation"


def read_chats(part: Part, id_column: str, id_field: str | None = None) -> Iterator[Chat]:
    """Yield the conversations of some rows.

    Parameters
    ----------
    part : Part
        With the columns `id_column` and ``conversation``. Messages may have a ``timestamp``.
    id_column : str
        What tells conversations apart.
    id_field : str or None
        A field of the first message that does so where `id_column` alone does not.

    Raises
    ------
    TraceError
        If a value has another type than it should, is null or is not UTF-8; names its row.
    """
    source, first_row = part.source, part.first_row
    ids = part.table.column(id_column).combine_chunks()
    ids = read_strings(ids, source, id_column, lambda i: first_row + i)
    messages, starts = flatten_messages(part)

    def locate(i: int) -> int:
        return first_row + int(np.searchsorted(starts, i, side="right")) - 1

    roles, contents = (
        read_strings(read_field(messages, name, source), source, f"{CONVERSATION}.{name}", locate)
        for name in ("role", "content")
    )
    times = [math.nan] * len(roles)
    if has_field(messages, "timestamp"):
        field = read_field(messages, "timestamp", source)
        times = read_times(field, source, f"{CONVERSATION}.timestamp").tolist()
    qualified = id_field is not None and has_field(messages, id_field)
    marks = read_field(messages, id_field, source).to_pylist() if qualified else None
    said = list(map(Message, roles, contents, times))
    for i, conversation_id in enumerate(ids):
        start, end = starts[i], starts[i + 1]
        if marks and start < end and marks[start] is not None:
            conversation_id = f"{conversation_id}-{marks[start]}"
        yield Chat(conversation_id, said[start:end])


def flatten_messages(part: Part) -> tuple[pa.StructArray, np.ndarray]:
    """Return all messages of `part`, and int64[n + 1], where those of each row start."""
    lists = part.table.column(CONVERSATION).combine_chunks()
    kind = lists.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list or not pa.types.is_struct(kind.value_type):
        problem = f"column {CONVERSATION} must be a list of messages, not {kind}"
        raise TraceError(part.source, problem)
    require_values(lists, part.source, CONVERSATION, lambda i: part.first_row + i)
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    return lists.flatten(), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def has_field(messages: pa.StructArray, name: str) -> bool:
    """Return whether the messages have the field `name`."""
    return messages.type.get_field_index(name) >= 0


def read_field(messages: pa.StructArray, name: str, source: str) -> pa.Array:
    """Return one field of all messages, null where the message itself is."""
    if not has_field(messages, name):
        fields = ", ".join(field.name for field in messages.type)
        raise TraceError(source, f"messages have no field {name}; they have {fields}")
    return pc.struct_field(messages, name)


def read_strings(
    values: pa.Array,
    source: str,
    column: str,
    locate: Callable[[int], int],
    *,
    empty: bool = False,
) -> list[str]:
    """Return `values` as text; raise for another type, or bytes that are no UTF-8.

    With `empty`, a null is an empty text; otherwise it raises too.
    """
    kind = values.type
    if empty:
        values = values.cast(pa.string()) if pa.types.is_null(kind) else values
        kind = values.type
    else:
        require_values(values, source, column, locate)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise TraceError(source, f"column {column} must hold text, not {kind}")
    try:
        return [value or "" for value in values.to_pylist()]
    except UnicodeDecodeError:
        # Arrow does not say which value it was.
        for i, raw in enumerate(values.cast(pa.large_binary()).to_pylist()):
            try:
                (raw or b"").decode()
            except UnicodeDecodeError as error:
                row, value = locate(i), raw[:40]
                problem = "is not UTF-8"
                raise TraceError(source, problem, row=row, column=column, value=value) from error
        raise


def require_values(
    values: pa.Array, source: str, column: str, locate: Callable[[int], int]
) -> None:
    """Raise if one of `values` is null."""
    if values.null_count:
        row = locate(int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]))
        raise TraceError(source, "must not be null", row=row, column=column, value=None)
