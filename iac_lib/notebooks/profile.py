"""What a profile sets in which notebook."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import papermill
import yaml

QUICK = "quick"


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
