from __future__ import annotations

import pytest

from iac_lib.traces.data import DATA_SETS, DataNotFound, find_data


def test_finds_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    (tmp_path / "azure-llm-2023").mkdir()
    (tmp_path / "azure-llm-2023" / "conv.csv").touch()
    assert find_data("azure-llm-2023/conv.csv") == tmp_path / "azure-llm-2023" / "conv.csv"


def test_says_what_to_set_and_where_to_download(monkeypatch, tmp_path):
    name = "mooncake/conversation_trace.jsonl"
    monkeypatch.delenv("IAC_DATA", raising=False)
    with pytest.raises(DataNotFound, match="needs IAC_DATA, which is not set") as error:
        find_data(name)
    assert "https://github.com/kvcache-ai/Mooncake/raw/3b5a594/FAST25-release" in str(error.value)
    assert "Apache-2.0" in str(error.value)
    monkeypatch.setenv("IAC_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} has no {name}"):
        find_data(name)


def test_an_unknown_file_has_no_download(monkeypatch):
    monkeypatch.delenv("IAC_DATA", raising=False)
    with pytest.raises(DataNotFound, match="set IAC_DATA to the folder that holds it"):
        find_data("mine/own.jsonl")


@pytest.mark.parametrize("name", [f"{d}/{f}" for d, s in DATA_SETS.items() for f in s.files])
def test_every_listed_file_is_where_it_is_said_to_be(real, name):
    assert real(name).stat().st_size > 0
