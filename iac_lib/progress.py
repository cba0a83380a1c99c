"""The one progress bar."""

import os
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def progress(iterable: Iterable[Item], desc: str, total: int | None = None) -> Iterable[Item]:
    """Show a progress bar while `iterable` is consumed.

    Parameters
    ----------
    iterable
        What to go through.
    desc
        What is being done, shown before the bar.
    total
        Number of items, where `iterable` does not know its length.

    Returns
    -------
    Iterable
        The same items. With the environment variable ``IAC_PROGRESS=0`` it is `iterable` itself.
    """
    # Notebooks are executed with it off: a saved bar stays at 0 % for ever.
    if os.environ.get("IAC_PROGRESS") == "0":
        return iterable
    from tqdm.auto import tqdm

    return tqdm(iterable, desc=desc, total=total)
