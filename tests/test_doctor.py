import subprocess
import sys

import pytest

from iac_lib import doctor
from iac_lib.models.catalog import MODELS


def by_name():
    return {check.name: check for check in doctor.examine()}


def test_finds_nothing_missing_here_that_is_needed():
    missing = [check for check in doctor.examine() if check.needed and not check.ok]
    assert not missing


def test_reports_versions_of_the_library_and_of_extras():
    checks = by_name()
    assert checks["numpy"].ok
    assert checks["numpy"].needed
    assert checks["pyyaml"].ok
    assert checks["jupyterlab (notebooks)"].ok
    assert not checks["jupyterlab (notebooks)"].needed
    assert "iac-lib" not in checks


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("numpy>=99", "is outside >=99: run `make setup`"),
        ("no-such-thing>=1", "not installed: run `make setup`"),
    ],
)
def test_a_missing_dependency_fails_and_says_what_to_do(monkeypatch, capsys, declared, says):
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: [declared])
    assert doctor.main() == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if says in line)
    assert line.startswith("missing")


def test_a_dependency_that_cannot_be_imported_fails(monkeypatch):
    def broken(name):
        raise OSError("wrong ELF class")

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    check = by_name()["numpy"]
    assert not check.ok
    assert "cannot be imported: wrong ELF class" in check.says


def test_a_missing_extra_is_told_but_does_not_fail(monkeypatch, capsys):
    declared = ["no-such-thing>=1; extra == 'datasets'", "other; python_version < '3'"]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: declared)
    assert doctor.main() == 0
    shown = capsys.readouterr().out
    assert "no-such-thing (datasets)" in shown
    assert "pip install -e '.[datasets]'" in shown
    assert "other" not in shown


def test_an_uninstalled_kit_fails(monkeypatch):
    monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-kit")
    assert doctor.main() == 1


def test_data_sets(monkeypatch, tmp_path):
    monkeypatch.delenv("IAC_DATA", raising=False)
    assert "not set" in by_name()["IAC_DATA"].says
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "nowhere"))
    assert "is no folder" in by_name()["IAC_DATA"].says
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    (tmp_path / "mooncake").mkdir()
    checks = by_name()
    assert checks["data mooncake"].ok
    assert not checks["data ragpulse"].ok


def test_models(monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    check = by_name()["model e5-small"]
    assert not check.ok and not check.needed
    assert "run `make models`" in check.says
    for file in MODELS["e5-small"].files:
        path = tmp_path / "models" / "e5-small" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"wrong")
    assert "not loaded" in by_name()["model e5-small"].says


def test_chromium(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/no/such/chromium")
    assert "apt-get install chromium" in by_name()["chromium"].says


def test_starts_without_any_dependency():
    code = (
        "import sys; sys.path.insert(0, '.'); from iac_lib import doctor; sys.exit(doctor.main())"
    )
    bare = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert bare.returncode == 1
    assert "run `make setup`" in bare.stdout
    assert not bare.stderr
