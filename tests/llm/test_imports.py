import subprocess
import sys
from pathlib import Path

ROOMS = Path(__file__).parents[2] / "iac_lib"


def test_no_module_needs_what_make_models_installs():
    modules = [f"iac_lib.llm.{path.stem}" for path in (ROOMS / "llm").glob("*.py")]
    modules += ["iac_lib.intents.labeling", "iac_lib.intents.tnt_llm"]
    modules += ["iac_lib.intents.cluster_naming", "iac_lib.intents.hybrid"]
    code = f"import {', '.join(modules)}, sys; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "transformers", "openai", "xllamacpp", "sklearn", "numba"}
    assert "iac_lib.llm.local" in output.stdout and not heavy & set(output.stdout.split())
