"""Install models: ``python -m iac_lib.models [names] [--all]``; ``make models`` calls this."""

import argparse
import sys

from iac_lib.models.catalog import MODELS
from iac_lib.models.fetch import FetchError, fetch_model
from iac_lib.models.store import ModelCorrupt

# What the quick profile uses.
DEFAULT = ("e5-small", "minilm", "qwen-coder-1.5b")


def main(arguments: list[str] | None = None) -> int:
    """Install the named models; return 1 if one could not be had."""
    parser = argparse.ArgumentParser(prog="python -m iac_lib.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(MODELS))
    parser.add_argument("--all", action="store_true", help="fetch every one of them")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(MODELS):
        parser.error(f"there is no model {', '.join(sorted(unknown))}")
    for name in MODELS if given.all else given.names or DEFAULT:
        model = MODELS[name]
        print(f"{name}: {model.holds}; {model.licence}, {model.size / 2**20:,.0f} MiB", flush=True)
        try:
            print(f"  in {fetch_model(name)}")
        except (FetchError, ModelCorrupt, OSError) as error:
            print(f"  {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
