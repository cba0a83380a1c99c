"""What SGLang's radix cache imports but never calls on a machine without a GPU.

Call `install` before importing ``sglang.srt.mem_cache.radix_cache``. Absent packages are
answered by empty modules; nothing of SGLang itself is changed.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
from importlib.metadata import version
from pathlib import Path

ABSENT = ("triton",)
# In newer versions these pull in kernels and model configurations.
NEWER = (
    "sglang.srt.mem_cache.memory_pool",
    "sglang.kernels.ops.kvcache.mla_buffer",
    "sglang.srt.observability.metrics_collector",
)


class Anything:
    """Answers every attribute, call and subscript; as a decorator returns the function."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        decorates = len(args) == 1 and not kwargs and callable(args[0])
        return args[0] if decorates else self

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Anything:
        return self


class EmptyModule(types.ModuleType):
    """A module in which every public name exists: classes are empty, the rest `Anything`."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name[0].isupper() else Anything()


class EmptyPackages:
    """Import hook: any module of the given packages is an `EmptyModule`."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: object = None, target: object = None):
        if name.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return EmptyModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


def install() -> tuple[int, ...]:
    """Make the radix cache importable; return SGLang's version."""
    import torch  # noqa: F401  looks for triton itself, so it must come first

    number = tuple(int(part) for part in version("sglang").split(".")[:3])
    missing = tuple(name for name in ABSENT if importlib.util.find_spec(name) is None)
    sys.meta_path.insert(0, EmptyPackages(missing))
    folder = importlib.util.find_spec("sglang").submodule_search_locations[0]
    skip_init("sglang", Path(folder))
    for name in NEWER if number >= (0, 5, 15) else ():
        sys.modules[name] = EmptyModule(name)
    return number


def skip_init(name: str, folder: Path) -> None:
    """Register package `name` without running its ``__init__``, which loads the whole engine."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
