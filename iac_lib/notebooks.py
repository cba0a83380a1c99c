"""Execute the notebooks in reading order: ``python -m iac_lib.notebooks --profile quick``.

The ``.py`` of a pair is the source. With the quick profile its ``.ipynb`` is written anew, outputs
included; with any other the executed notebooks go to ``build/notebooks/<profile>``.
"""

import argparse
import ast
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
import yaml
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from iac_lib.files import write_atomically

QUICK = "quick"
FORMATS = "ipynb,py:percent"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_NOTE = "Sliders: open this notebook with `make lab` and run it to move them."


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


def read_profile(path: Path, notebooks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of each notebook: the section ``all``, then the notebook's own.

    Parameters
    ----------
    path
        A YAML file with a section ``all`` and one per notebook, named by its stem.
    notebooks
        Stems of the notebooks that exist.

    Raises
    ------
    ValueError
        If there is no such profile or a section names no notebook.
    """
    if not path.exists():
        known = ", ".join(sorted(other.stem for other in path.parent.glob("*.yaml")))
        raise ValueError(f"no profile {path}; there are: {known}")
    sections = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    for section in sections:
        if section != "all" and section not in notebooks:
            raise ValueError(f"{path}: section {section!r} names no notebook")
    return {name: {**sections.get("all", {}), **sections.get(name, {})} for name in notebooks}


def read_source(path: Path) -> NotebookNode:
    """Return the notebook that a ``.py`` in percent format describes, without outputs.

    Cell ids follow from the cells' text, so that making it again makes the same file.
    """
    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata = NotebookNode(
        jupytext={"formats": FORMATS},
        kernelspec={"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"},
        language_info={"name": "python"},
    )
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        repeat = seen[cell.source] = seen.get(cell.source, -1) + 1
        cell.id = hashlib.sha256(f"{repeat} {cell.source}".encode()).hexdigest()[:12]
    return notebook


def check_parameters(name: str, path: Path, wanted: Mapping[str, Any], profile: str) -> None:
    """Fail where papermill would only warn, or where saved outputs would not match the cells.

    Parameters
    ----------
    name
        The notebook's stem, for messages.
    path
        The ``.ipynb`` to look into.
    wanted
        Parameters that the profile sets.
    profile
        The profile's name. The quick one must repeat the notebook's own defaults.

    Raises
    ------
    ValueError
        If the notebook does not declare one of `wanted`, or declares another quick default.
    """
    declared = papermill.inspect_notebook(str(path))
    for parameter, value in wanted.items():
        if parameter not in declared:
            raise ValueError(
                f"profile {profile!r} sets {parameter} for {name}, whose parameters cell declares "
                f"only: {', '.join(declared) or 'nothing'}"
            )
        default = ast.literal_eval(declared[parameter]["default"])
        if profile == QUICK and default != value:
            raise ValueError(
                f"{name} has {parameter} = {default!r} where the quick profile says {value!r}: "
                "make the notebook's default and profiles/quick.yaml agree"
            )


def without_volatile(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without what changes at every run: times, paths, widgets' random ids."""
    kept = {key: notebook.metadata[key] for key in ("jupytext", "kernelspec", "language_info")}
    kept["language_info"] = {"name": "python"}
    notebook.metadata = NotebookNode(kept)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        for output in cell.get("outputs", []):
            if WIDGET_VIEW in output.get("data", {}):
                output.data = NotebookNode({"text/plain": WIDGET_NOTE})
    return notebook


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
    parser = argparse.ArgumentParser(prog="python -m iac_lib.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", help="notebooks to run, such as 05_cache_hit_rate")
    parser.add_argument("--profile", default=QUICK, help="a file of profiles/ (default: quick)")
    parser.add_argument("--root", type=Path, default=Path(), help="the kit's folder (default: .)")
    options = parser.parse_args(arguments)

    root, profile = options.root.resolve(), options.profile
    written = root / "notebooks" if profile == QUICK else root / "build" / "notebooks" / profile
    figures = root / "figures" if profile == QUICK else root / "figures" / profile
    os.environ["IAC_FIGURES"] = str(figures)
    os.environ["IAC_PROGRESS"] = "0"
    try:
        everything = [path.stem for path in find_notebooks(root / "notebooks")]
        parameters = read_profile(root / "profiles" / f"{profile}.yaml", everything)
        chosen = find_notebooks(root / "notebooks", options.names)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for passed, source in enumerate(chosen):
        started = time.monotonic()
        destination = written / f"{source.stem}.ipynb"
        try:
            execute(source, parameters[source.stem], profile, destination)
        except (PapermillExecutionError, ValueError) as error:
            print(f"{source.stem} failed: {error}", file=sys.stderr)
            print(f"{passed} passed, 1 failed")
            return 1
        print(f"{source.stem}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(chosen)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
