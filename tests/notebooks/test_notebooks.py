"""What every notebook of the kit keeps to."""

import statistics
from pathlib import Path

import nbformat
import papermill
import pytest

from iac_lib.notebooks.pair import FORMATS, read_source
from iac_lib.notebooks.profile import read_profile

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
RUN = "run `make figures`"

pytestmark = pytest.mark.skipif(not SOURCES, reason="notebooks/ holds no notebook yet")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def source(request):
    return request.param


@pytest.fixture
def executed(source):
    path = source.with_suffix(".ipynb")
    assert path.exists(), f"{source.name} has no {path.name}: {RUN}"
    return nbformat.read(path, as_version=4)


def test_every_ipynb_has_its_source():
    names = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert names == {path.stem for path in SOURCES}


def test_the_pair_is_in_step(source, executed):
    def content(notebook):
        return [
            (cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in notebook.cells
        ]

    assert f"formats: {FORMATS}" in source.read_text(encoding="utf-8")
    assert content(read_source(source)) == content(executed), f"{source.stem}: {RUN}"


def test_the_first_code_cell_and_no_other_holds_the_parameters(source, executed):
    tagged = ["parameters" in cell.metadata.get("tags", []) for cell in code_cells(executed)]
    assert tagged.index(True) == 0
    assert sum(tagged) == 1
    declared = papermill.inspect_notebook(str(source.with_suffix(".ipynb")))
    assert declared["PROFILE"]["default"].strip("\"'") == "quick"


@pytest.mark.parametrize("profile", ["quick", "traces", "paper"])
def test_every_profile_sets_only_what_the_notebook_declares(source, executed, profile):
    declared = papermill.inspect_notebook(str(source.with_suffix(".ipynb")))
    stems = [path.stem for path in SOURCES]
    parameters = read_profile(ROOT / "profiles" / f"{profile}.yaml", stems)[source.stem]
    assert parameters["PROFILE"] == profile
    assert set(parameters) <= set(declared)


def test_it_was_run_from_top_to_bottom_without_an_error(source, executed):
    counts = [cell.execution_count for cell in code_cells(executed)]
    assert counts == list(range(1, len(counts) + 1)), RUN
    outputs = [output for cell in code_cells(executed) for output in cell.outputs]
    assert "error" not in {output.output_type for output in outputs}


def test_it_is_small(source, executed):
    megabytes = source.with_suffix(".ipynb").stat().st_size / 1e6
    assert megabytes < 2


def test_its_cells_are_short(source):
    lines = [len(cell.source.splitlines()) for cell in code_cells(read_source(source))]
    assert max(lines) <= 15
    assert statistics.median(lines) <= 6


def test_it_installs_nothing(source):
    assert "pip install" not in source.read_text(encoding="utf-8")
