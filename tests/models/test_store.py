from __future__ import annotations

import os
import re

import pytest

from iac_lib.models import store
from iac_lib.models.catalog import MODELS, PART_BYTES, QWEN_PARTS
from iac_lib.models.fetch import fetch_model
from iac_lib.models.store import ModelCorrupt, ModelNotFound, find_model


def test_a_missing_model_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    with pytest.raises(ModelNotFound, match=r"e5-small.*make models.*iac_lib\.models e5-small"):
        find_model("e5-small")


def test_an_unknown_model_names_the_known_ones():
    with pytest.raises(KeyError, match="e5-small, minilm"):
        find_model("e6")


def test_one_missing_file_is_a_missing_model(shelf):
    (fetch_model("whole") / "sub" / "config.json").unlink()
    with pytest.raises(ModelNotFound, match=re.escape("config.json")):
        find_model("whole")


@pytest.mark.parametrize("place", [0, 700, -1])
def test_a_flipped_byte_is_refused(shelf, place):
    path = fetch_model("whole") / "weights.bin"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelCorrupt, match=r"weights\.bin has SHA-256.*not loaded.*make models"):
        find_model("whole")


def test_a_cut_file_is_refused_without_reading_it(shelf, monkeypatch):
    path = fetch_model("parted")
    os.truncate(path, 1500)
    monkeypatch.setattr(store, "hash_file", None)
    with pytest.raises(ModelCorrupt, match="1,500 bytes, not 2,010"):
        find_model("parted")


def test_a_file_is_hashed_once(shelf, monkeypatch):
    path = fetch_model("parted")
    hashed = []
    monkeypatch.setattr(store, "hash_file", lambda path: hashed.append(path) or "wrong")
    assert find_model("parted") == path
    assert not hashed
    os.utime(path, ns=(0, 0))
    with pytest.raises(ModelCorrupt):
        find_model("parted")
    assert hashed == [path]


@pytest.mark.parametrize("record", [b"", b"[]", b"{", b"\xff", b'{"model.gguf": 3}'])
def test_a_damaged_record_costs_a_hash_only(shelf, record):
    path = fetch_model("parted")
    (path.parent / store.VERIFIED).write_bytes(record)
    assert find_model("parted") == path


def test_the_catalog_is_well_formed():
    for name, model in MODELS.items():
        assert model.name == name
        digests = [each.sha256 for each in (*model.wheels, *model.files)]
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
        assert len(set(digests)) == len(digests)
        assert len(model.wheels) == 1 or model.making == "join"
    qwen = MODELS["qwen-coder-1.5b"]
    assert (len(QWEN_PARTS) - 1) * PART_BYTES < qwen.size < len(QWEN_PARTS) * PART_BYTES
