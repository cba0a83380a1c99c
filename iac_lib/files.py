"""Where results are kept, and how to write files so that a reader never finds half of one."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` if the block succeeds.

    Parameters
    ----------
    path
        The file to write. Its folder is made if missing.

    Yields
    ------
    Path
        A file name in the same folder, with the same suffix, to write to.

    Raises
    ------
    FileNotFoundError
        If the block ends without having written the temporary file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The same folder, since os.replace is atomic only within a file system.
    temporary = path.with_name(f".{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        yield temporary
        if not temporary.exists():
            raise FileNotFoundError(
                f"nothing was written for {path}: write to the path that write_atomically yields"
            )
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def cache_directory() -> Path:
    """Return where intermediate results are kept: ``IAC_CACHE``, or the user's cache folder."""
    if given := os.environ.get("IAC_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "iac"
