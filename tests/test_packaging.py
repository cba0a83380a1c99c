import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def make(*arguments):
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_environment_yml_follows_from_pyproject(tmp_path):
    # The command of the Makefile, which is where it is written down.
    dry = make("--dry-run", "--always-make", "environment", f"VENV={tmp_path}").stdout
    command = dry[dry.index("pyproject2conda yaml") :].replace("\\\n", " ").split("\n")[0]
    command = command.replace("environment.yml", str(tmp_path / "environment.yml"))
    program = Path(sys.executable).with_name("pyproject2conda")
    subprocess.run(command.replace("pyproject2conda", str(program), 1), shell=True, cwd=ROOT)
    expected = (tmp_path / "environment.yml").read_text()
    assert (ROOT / "environment.yml").read_text() == expected, "run `make environment`"


def test_importing_the_package_is_light():
    code = (
        "import time, sys; start = time.perf_counter(); import iac_lib; "
        "print(time.perf_counter() - start); print(*sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    seconds, modules = output.splitlines()
    assert float(seconds) < 0.5
    assert not {"torch", "sglang", "vllm", "numba", "pandas", "matplotlib"} & set(modules.split())


@pytest.mark.parametrize("resource", ["figures/style.mplstyle"])
def test_data_files_are_in_the_package(resource):
    assert (files("iac_lib") / resource).is_file()


def test_every_data_file_of_the_package_is_declared():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    tracked = subprocess.run(
        ["git", "ls-files", "iac_lib"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    data_files = [Path(path) for path in tracked if not path.endswith(".py")]
    assert not [path for path in data_files if not any(path.match(p) for p in patterns)]


def test_help_lists_the_targets():
    shown = make("help").stdout
    for target in (
        "setup",
        "models",
        "figures",
        "test",
        "lab",
        "doctor",
        "bench",
        "browser",
        "lint",
    ):
        assert f"make {target}" in shown
