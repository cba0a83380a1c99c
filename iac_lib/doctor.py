"""Say what this machine has and lacks: ``python -m iac_lib.doctor``."""

import importlib
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from iac_lib.models import ModelCorrupt, ModelNotFound, find_model
from iac_lib.models.catalog import MODELS
from iac_lib.traces.data import DATA_SETS, VARIABLE

DISTRIBUTION = "iac-lib"
SETUP = "run `make setup`"


class Check(NamedTuple):
    """One line of the report."""

    name: str
    ok: bool
    says: str
    needed: bool = False
    """Whether the kit cannot work without it."""


def check_python() -> Check:
    """Return whether this Python is new enough."""
    ok = sys.version_info >= (3, 10)
    advice = "" if ok else ": the kit needs 3.10 or newer"
    return Check("python", ok, platform.python_version() + advice, needed=True)


def check_dependencies() -> Iterator[Check]:
    """Yield a check per dependency in the installed package's metadata.

    Those of the library itself are imported; those of an extra are only looked up, since some take
    seconds to import.
    """
    try:
        from packaging.requirements import Requirement

        declared = importlib.metadata.requires(DISTRIBUTION) or []
    except ImportError as error:  # PackageNotFoundError is one too
        yield Check(DISTRIBUTION, False, f"not installed here ({error}): {SETUP}", needed=True)
        return
    modules: dict[str, str] = {}
    for module, distributions in importlib.metadata.packages_distributions().items():
        for distribution in distributions if not module.startswith("_") else ():
            modules.setdefault(_normal(distribution), module)
    for requirement in map(Requirement, declared):
        extra = _extra(str(requirement.marker or ""))
        if _normal(requirement.name) == DISTRIBUTION:
            continue
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = f"{requirement.name} ({extra})" if extra else requirement.name
        problem, version = None, None
        try:
            version = importlib.metadata.version(requirement.name)
            if version not in requirement.specifier:
                problem = f"{version} is outside {requirement.specifier}"
            elif not extra:
                # Python 3.10 knows the modules of some packages only.
                module = modules.get(_normal(requirement.name), requirement.name.replace("-", "_"))
                importlib.import_module(module)
        except importlib.metadata.PackageNotFoundError:
            problem = "not installed"
        except Exception as error:  # a broken binary may raise anything on import
            problem = f"{version} cannot be imported: {error}"
        advice = f"`python -m pip install -e '.[{extra}]'` if you want it" if extra else SETUP
        says = f"{problem}: {advice}" if problem else f"{version}"
        yield Check(name, problem is None, says, needed=not extra)


def check_data() -> Iterator[Check]:
    """Yield whether ``IAC_DATA`` is set, and a check per data set in it."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        where = ", ".join(f"{name}: {each.url}" for name, each in DATA_SETS.items())
        says = f"not set: only the quick profile runs without real traces ({where})"
        yield Check(VARIABLE, False, says)
        return
    if not Path(folder).is_dir():
        yield Check(VARIABLE, False, f"{folder} is no folder: set it to where the traces lie")
        return
    yield Check(VARIABLE, True, folder)
    for name, data_set in DATA_SETS.items():
        found = Path(folder, name).is_dir()
        holds = data_set.holds
        says = holds if found else f"{holds}: put it into {folder} to use it ({data_set.url})"
        yield Check(f"data {name}", found, says)


def check_models() -> Iterator[Check]:
    """Yield a check per model file the kit can use."""
    for name in MODELS:
        try:
            ok, says = True, str(find_model(name))
        except (ModelNotFound, ModelCorrupt) as error:
            ok, says = False, str(error)
        yield Check(f"model {name}", ok, says)


def check_machine() -> Iterator[Check]:
    """Yield the machine's cores, memory and free disk, judged for the quick profile."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Check("cores", True, f"{cores}")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        advice = "" if memory >= 7 else ": the quick profile wants 8 GiB"
        yield Check("memory", memory >= 7, f"{memory:.0f} GiB{advice}")
    disk = shutil.disk_usage(".").free / 2**30
    advice = "" if disk >= 4 else ": environment and caches want 4 GiB"
    yield Check("disk", disk >= 4, f"{disk:.0f} GiB free{advice}")


def check_chromium() -> Check:
    """Return whether the browser tests have a browser."""
    path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    advice = "only `make browser` needs it; on Debian or Ubuntu: apt-get install chromium"
    return Check("chromium", path is not None, path or advice)


def examine() -> Iterator[Check]:
    """Yield all checks."""
    yield check_python()
    yield from check_dependencies()
    yield from check_data()
    yield from check_models()
    yield from check_machine()
    yield check_chromium()


def main() -> int:
    """Print one line per check; return 1 if something is missing that the kit cannot do without."""
    broken = False
    for check in examine():
        broken |= check.needed and not check.ok
        print(f"{'ok' if check.ok else 'missing':8} {check.name:28} {check.says}")
    return int(broken)


def _normal(distribution: str) -> str:
    return distribution.lower().replace("_", "-").replace(".", "-")


def _extra(marker: str) -> str:
    _, _, rest = marker.partition("extra == ")
    return rest.strip("\"' )")


if __name__ == "__main__":
    sys.exit(main())
