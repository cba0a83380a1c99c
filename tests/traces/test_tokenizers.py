from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iac_lib.traces.tokenizers import LONGEST_PIECE, Characters, Tekken, count_tokens

TEXTS = ["The quick brown fox", "", "Grüße, 世界", "x" * 44]


class Counting:
    """Counts letters, and how often it was asked."""

    name = "counting"
    asked = 0

    def count(self, texts):
        self.asked += 1
        return np.array([len(text) for text in texts], np.int64)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    return tmp_path


def test_tekken_counts_known_texts():
    counts = count_tokens([*TEXTS, "hello world", "tokens " * LONGEST_PIECE])
    assert counts.dtype == np.int64
    assert counts[1] == 0 and (counts[[0, 2, 3]] > 0).all()
    assert counts[4] == 2
    assert counts[5] == pytest.approx(LONGEST_PIECE, rel=0.01)
    assert Tekken.name == "tekken_240911"


def test_characters_are_an_estimate():
    assert Characters().count(TEXTS).tolist() == [5, 0, 3, 10]


def test_second_count_comes_from_the_cache(folder):
    tokenizer = Counting()
    first, second = count_tokens(TEXTS, tokenizer), count_tokens(TEXTS, tokenizer)
    assert first.tolist() == second.tolist() and tokenizer.asked == 1
    assert len(list(folder.iterdir())) == 1
    count_tokens(TEXTS[::-1], tokenizer)
    assert tokenizer.asked == 2
    assert count_tokens(TEXTS, Characters()).tolist() != first.tolist()


def test_texts_are_not_confused_with_their_concatenation():
    tokenizer = Counting()
    assert count_tokens(["ab", "c"], tokenizer).tolist() == [2, 1]
    assert count_tokens(["a", "bc"], tokenizer).tolist() == [1, 2]


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "length", "negative", "column"])
def test_damaged_cache_is_counted_anew(folder, damage):
    tokenizer = Counting()
    texts = ["a" * i for i in range(1000, 2000)]
    count_tokens(texts, tokenizer)
    (path,) = folder.iterdir()
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[200] ^= 1
        path.write_bytes(data)
    elif damage in ("truncate", "empty"):
        path.write_bytes(data[:-10] if damage == "truncate" else b"")
    else:
        name = "other" if damage == "column" else "tokens"
        values = [1] * 999 if damage == "length" else [-1] * 1000
        pq.write_table(pa.table({name: values}), path)
    assert count_tokens(texts, tokenizer).tolist() == list(range(1000, 2000))
    assert tokenizer.asked == 2
    count_tokens(texts, tokenizer)
    assert tokenizer.asked == 2


def test_nothing_is_left_after_a_failed_count(folder):
    class Failing(Counting):
        def count(self, texts):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_tokens(TEXTS, Failing())
    assert list(folder.iterdir()) == []


def test_nothing_is_left_after_a_failed_write(folder, monkeypatch):
    def write_half(table, path, **options):
        path.write_bytes(b"PAR1")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", write_half)
    with pytest.raises(KeyboardInterrupt):
        count_tokens(TEXTS, Counting())
    assert list(folder.iterdir()) == []


def test_unwritable_cache_is_warned_about(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("IAC_CACHE", str(folder / "file" / "below"))
    with pytest.warns(UserWarning, match="token counts were not cached in .*below"):
        assert count_tokens(TEXTS, Counting()).tolist() == [len(text) for text in TEXTS]
