import nbformat
import pytest
import yaml

from iac_lib.notebooks.__main__ import main

HEADER = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

"""


@pytest.fixture
def kit(tmp_path, monkeypatch):
    """A kit of two notebooks; returns a function that writes a profile and runs it."""
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "profiles").mkdir()
    for name, body in {
        "00_first": 'print("ran", PROFILE)',
        "01_second": "import os\nprint(SEEDS, os.environ['IAC_FIGURES'])",
    }.items():
        (tmp_path / "notebooks" / f"{name}.py").write_text(
            f'{HEADER}# %% tags=["parameters"]\nPROFILE = "quick"\nSEEDS = 1\n\n# %%\n{body}\n'
        )

    def run(profile="quick", sections=None, names=()):
        sections = sections or {"all": {"PROFILE": profile}}
        (tmp_path / "profiles" / f"{profile}.yaml").write_text(yaml.safe_dump(sections))
        return main([*names, "--profile", profile, "--root", str(tmp_path)])

    run.path = tmp_path
    return run


def output_of(path):
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].text


def test_quick_writes_the_pairs_in_place_and_the_same_again(kit, capsys):
    assert kit() == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")
    paths = sorted((kit.path / "notebooks").glob("*.ipynb"))
    assert [path.stem for path in paths] == ["00_first", "01_second"]
    assert output_of(paths[0]) == "ran quick\n"
    assert output_of(paths[1]) == f"1 {kit.path / 'figures'}\n"
    cells = nbformat.read(paths[0], as_version=4).cells
    assert [cell.execution_count for cell in cells] == [1, 2]
    before = [path.read_bytes() for path in paths]
    assert kit() == 0
    assert [path.read_bytes() for path in paths] == before


def test_another_profile_sets_parameters_and_leaves_the_pairs_alone(kit):
    sections = {"all": {"PROFILE": "traces"}, "01_second": {"SEEDS": 5}}
    assert kit("traces", sections) == 0
    built = kit.path / "build" / "notebooks" / "traces"
    assert output_of(built / "00_first.ipynb") == "ran traces\n"
    assert output_of(built / "01_second.ipynb") == f"5 {kit.path / 'figures' / 'traces'}\n"
    assert not list((kit.path / "notebooks").glob("*.ipynb"))


def test_an_unknown_parameter_fails(kit, capsys):
    assert kit("traces", {"all": {"PROFILE": "traces", "SEED": 5}}) == 1
    assert "sets SEED for 00_first" in capsys.readouterr().err
    assert not (kit.path / "build").exists()


def test_quick_must_be_the_notebooks_own_defaults(kit, capsys):
    assert kit("quick", {"all": {"PROFILE": "quick"}, "01_second": {"SEEDS": 2}}) == 1
    assert "SEEDS = 1 where the quick profile says 2" in capsys.readouterr().err


def test_a_section_for_no_notebook_fails(kit, capsys):
    assert kit("quick", {"all": {}, "09_none": {}}) == 1
    assert "'09_none' names no notebook" in capsys.readouterr().err


def test_an_unknown_profile_or_notebook_fails(kit, capsys):
    assert kit(names=["07_none"]) == 1
    assert "no notebook '07_none'" in capsys.readouterr().err
    assert main(["--profile", "fast", "--root", str(kit.path)]) == 1
    assert "no profile" in capsys.readouterr().err


def test_a_failing_notebook_is_told_and_not_written(kit, capsys):
    path = kit.path / "notebooks" / "01_second.py"
    path.write_text(path.read_text() + "\n# %%\nraise LookupError('no such trace')\n")
    assert kit() == 1
    told = capsys.readouterr()
    assert "no such trace" in told.err
    assert told.out.endswith("1 passed, 1 failed\n")
    assert [p.name for p in (kit.path / "notebooks").glob("*.ipynb")] == ["00_first.ipynb"]


def test_widgets_leave_no_random_ids(kit):
    path = kit.path / "notebooks" / "00_first.py"
    path.write_text(path.read_text() + "\n# %%\nimport ipywidgets\nipywidgets.IntSlider()\n")
    assert kit(names=["00_first"]) == 0
    notebook = nbformat.read(kit.path / "notebooks" / "00_first.ipynb", as_version=4)
    assert "widgets" not in notebook.metadata
    assert list(notebook.cells[-1].outputs[0].data) == ["text/plain"]


def test_real_traces_are_asked_for_before_anything_runs(kit, monkeypatch, capsys):
    monkeypatch.delenv("IAC_DATA")
    assert kit("traces") == 1
    output = capsys.readouterr()
    assert "needs IAC_DATA" in output.err and "passed" not in output.out
