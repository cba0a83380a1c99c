"""Execute the notebooks in reading order.

With the quick profile their .ipynb are written anew, outputs included, and figures/ with them; with
any other the executed notebooks go to build/notebooks/<profile> and figures to figures/<profile>.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from iac_lib.files import write_atomically
from iac_lib.notebooks.pair import read_source, without_volatile
from iac_lib.notebooks.profile import QUICK, check_parameters, read_profile
from iac_lib.traces.data import VARIABLE


def find_notebooks(directory: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the ``NN_name.py`` files in reading order.

    Parameters
    ----------
    directory
        The folder of notebooks.
    names
        Stems to keep, such as ``"05_cache_hit_rate"``; all if empty.

    Raises
    ------
    ValueError
        If a name is not among the notebooks.
    """
    found = {path.stem: path for path in sorted(directory.glob("[0-9][0-9]_*.py"))}
    for name in names:
        if name not in found:
            raise ValueError(f"no notebook {name!r} in {directory}; there are: {', '.join(found)}")
    return [path for stem, path in found.items() if not names or stem in names]


def execute(source: Path, parameters: Mapping[str, Any], profile: str, destination: Path) -> None:
    """Run one notebook in its own folder and write it, with outputs, only if it succeeds.

    Parameters
    ----------
    source
        The ``.py`` of the pair.
    parameters
        Parameters to set.
    profile
        The profile's name.
    destination
        The ``.ipynb`` to write.

    Raises
    ------
    PapermillExecutionError
        If a cell fails.
    RuntimeError
        If the kernel dies.
    ValueError
        As `check_parameters`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, f"{source.stem}.ipynb")
        nbformat.write(read_source(source), path)
        check_parameters(source.stem, path, parameters, profile)
        executed = papermill.execute_notebook(
            str(path),
            str(path),
            # With nothing to set, papermill adds no cell: the .py and the .ipynb stay a pair.
            parameters={} if profile == QUICK else dict(parameters),
            cwd=str(source.parent),
            kernel_name="python3",
            progress_bar=False,
        )
    with write_atomically(destination) as temporary:
        nbformat.write(without_volatile(executed), temporary)


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute the notebooks; return 0 if all succeed, else 1 at the first that fails."""
    parser = argparse.ArgumentParser(
        prog="python -m iac_lib.notebooks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="notebooks to run, such as 05_cache_hit_rate")
    parser.add_argument("--profile", default=QUICK, help="a file of profiles/ (default: quick)")
    parser.add_argument("--root", type=Path, default=Path(), help="the kit's folder (default: .)")
    options = parser.parse_args(arguments)

    root, profile = options.root.resolve(), options.profile
    written = root / "notebooks" if profile == QUICK else root / "build" / "notebooks" / profile
    figures = root / "figures" if profile == QUICK else root / "figures" / profile
    os.environ["IAC_FIGURES"] = str(figures)
    os.environ["IAC_PROGRESS"] = "0"
    if not (root / "notebooks").is_dir():
        print(f"no notebooks in {root}: run it in the kit's folder or pass --root", file=sys.stderr)
        return 1
    try:
        everything = [path.stem for path in find_notebooks(root / "notebooks")]
        parameters = read_profile(root / "profiles" / f"{profile}.yaml", everything)
        chosen = find_notebooks(root / "notebooks", options.names)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if profile == "traces" and not os.environ.get(VARIABLE):
        print(f"the profile traces needs {VARIABLE}; see `make doctor`", file=sys.stderr)
        return 1
    for passed, source in enumerate(chosen):
        started = time.monotonic()
        destination = written / f"{source.stem}.ipynb"
        try:
            execute(source, parameters[source.stem], profile, destination)
        # A RuntimeError is a kernel that died or never answered.
        except (PapermillExecutionError, RuntimeError, ValueError) as error:
            print(f"{source.stem} failed: {error}", file=sys.stderr)
            print(f"{passed} passed, 1 failed")
            return 1
        except KeyboardInterrupt:
            print(f"{source.stem} interrupted; its old outputs stand", file=sys.stderr)
            return 130
        print(f"{source.stem}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(chosen)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
