"""Save a figure together with the data behind it."""

import os
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from iac_lib.files import write_atomically

# Nothing that changes from one run to the next: no date, no version, no random identifier.
_METADATA = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
_RC = {"svg.hashsalt": "iac_lib", "svg.fonttype": "none"}


def figures_directory() -> Path:
    """Return where figures go.

    The environment variable ``IAC_FIGURES`` says so; without it, ``figures`` in the nearest
    folder at or above the current one that holds a ``pyproject.toml``.
    """
    if directory := os.environ.get("IAC_FIGURES"):
        return Path(directory)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").exists():
            return folder / "figures"
    return here / "figures"


def save(
    fig: Figure,
    name: str,
    data: pd.DataFrame,
    source: str,
    directory: str | Path | None = None,
) -> None:
    """Write a figure as SVG and PNG and the data behind it as CSV.

    Saving the same figure again gives the same bytes. It fixes the figure's layout.

    Parameters
    ----------
    fig
        The figure. The source is written under it in small grey type.
    name
        File name without suffix.
    data
        The numbers drawn, one row per point. Named index levels become columns; an unnamed
        index is left out. The CSV gains a column ``data`` that holds `source`.
    source
        The data set behind the numbers, such as ``"synthetic wildchat-shaped"``.
    directory
        Folder to write to; `figures_directory` by default.

    Raises
    ------
    ValueError
        If `source` or `data` is empty, if `data` has a column ``data`` that says otherwise, or
        if `name` is not a plain file name.
    """
    table = name_source(name, data, source)

    stem = Path(directory) if directory is not None else figures_directory()
    with write_atomically(stem / f"{name}.csv") as path:
        table.to_csv(path, index=False, lineterminator="\n")
    # A second pass of a layout engine moves the axes a little: lay out once, then hold still.
    fig.draw_without_rendering()
    fig.set_layout_engine("none")
    note = fig.text(0, 0, f"data: {source}", va="top", fontsize=7, color="0.5")
    try:
        for suffix, metadata in _METADATA.items():
            with mpl.rc_context(_RC), write_atomically(stem / f"{name}.{suffix}") as path:
                fig.savefig(path, metadata=metadata, bbox_inches="tight")
    finally:
        note.remove()


def name_source(name: str, data: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return `data` as it is saved: named index levels as columns, the source in ``data``.

    Raises
    ------
    ValueError
        As `save`.
    """
    if not source.strip():
        raise ValueError(f"{name!r} has no source: name the data set it was drawn from")
    if data.empty:
        raise ValueError(f"{name!r} has no data behind it: pass the numbers it shows")
    if not name or Path(name).name != name:
        raise ValueError(f"{name!r} is not a plain file name: put the folder in `directory`")
    if any(level is not None for level in data.index.names):
        data = data.reset_index()
    if "data" in data.columns:
        if (data["data"] != source).any():
            raise ValueError(
                f"{name!r}: column 'data' must hold the source {source!r} in every row; "
                "rename that column"
            )
        return data
    return data.assign(data=source)
