# Everything runs from a virtual environment that the first target makes; nothing else is needed
# than Python 3.10 or newer and make.
PYTHON ?= python3
VENV ?= .venv
PROFILE ?= quick
# Names of single notebooks, such as 05_cache_hit_rate; all of them if empty.
NOTEBOOKS ?=
# Names of single models, such as e5-small; those that make intents needs if empty.
MODELS ?=
CHROMIUM ?= /usr/bin/chromium

BIN := $(VENV)/bin
comma := ,
space := $(subst ,, )

# uv does not read pip's configuration: hand it the local wheel folders that pip would look in.
PIP_LINKS = $(or $(PIP_FIND_LINKS),$(shell $(PYTHON) -m pip config get global.find-links 2>/dev/null))
LINKS = $(subst $(space),$(comma),$(strip $(PIP_LINKS)))
INSTALL_IN = $(if $(LINKS),UV_FIND_LINKS=$(LINKS)) $(BIN)/uv pip install --quiet --python
INSTALL = $(INSTALL_IN) $(BIN)/python

.DEFAULT_GOAL := help
# SGLang pins a torch of its own, so each version lives in an environment of its own.
SGLANG_VERSIONS ?= 0.5.3 0.5.23
SGLANG_NEEDS := torch==2.13.0 msgspec pyzmq pydantic psutil pybase64 requests fastapi starlette \
    orjson packaging pillow pytest pytest-timeout hypothesis

.PHONY: help setup models intents modeltest figures test lab doctor bench browser sglang lint environment clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.notebooks ## Make .venv and install the library and what the notebooks need

models: $(VENV)/.models ## Install what embeds and labels, and fetch the models (1.4 GB)
	$(BIN)/python -m iac_lib.models $(MODELS)

figures: $(VENV)/.notebooks ## Run the notebooks and write figures/ (PROFILE=quick|traces|paper)
	$(BIN)/python -m iac_lib.notebooks --profile $(PROFILE) $(NOTEBOOKS)
	$(BIN)/python -m iac_lib.report $(if $(filter-out quick,$(PROFILE)),--figures figures/$(PROFILE))

test: $(VENV)/.test ## Run all tests but the benchmarks and the browser's
	$(BIN)/python -m pytest -m "not benchmark and not browser"

intents: models ## Train the classifier and LPC's predictor anew and predict (half an hour on 2 cores)
	$(BIN)/python -m iac_lib.learn --output iac_lib/data/intents

modeltest: $(VENV)/.models $(VENV)/.test ## Run the tests that need models, with those that are there
	$(BIN)/python -m pytest -m "models and not benchmark"

lab: $(VENV)/.notebooks ## Open the notebooks in JupyterLab
	$(BIN)/jupyter lab --ip=127.0.0.1 notebooks

doctor: ## Say what this machine has, what it lacks and what to do
	@$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m iac_lib.doctor

bench: $(VENV)/.test ## Measure speed
	$(BIN)/python -m pytest -m benchmark -s

browser: $(VENV)/.test ## Move the notebooks' sliders in a real browser
	@test -x "$(CHROMIUM)" || { echo "No Chromium at $(CHROMIUM). On Debian or Ubuntu: \
	apt-get install chromium; elsewhere: make browser CHROMIUM=/path/to/chromium"; exit 1; }
	CHROMIUM=$(CHROMIUM) $(BIN)/python -m pytest -m browser

sglang: $(SGLANG_VERSIONS:%=build/sglang-%/.ok) ## Compare the replay with SGLang's own radix cache
	@for version in $(SGLANG_VERSIONS); do echo "sglang $$version"; \
	    build/sglang-$$version/bin/python -m pytest -m sglang tests/sglang || exit 1; done

build/sglang-%/.ok: Makefile pyproject.toml | $(BIN)/uv
	$(PYTHON) -m venv build/sglang-$*
	$(INSTALL_IN) build/sglang-$*/bin/python $(SGLANG_NEEDS) --editable .
	$(INSTALL_IN) build/sglang-$*/bin/python --no-deps sglang==$*
	touch $@

lint: $(VENV)/.test ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

environment: $(VENV)/.test ## Write environment.yml anew from pyproject.toml
	$(BIN)/pyproject2conda yaml --extra notebooks --name iac-lib --python-include infer \
	    --header --custom-command "make environment" --output environment.yml --overwrite force

clean: ## Remove what was built, the environment too
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis *.egg-info

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.7"

$(VENV)/.notebooks: pyproject.toml | $(BIN)/uv
	$(INSTALL) --editable ".[notebooks]"
	touch $@

# Without a local wheel of torch, uv looks for the build that fits this machine: for a CPU it is a
# tenth. Where torch's own index cannot be reached, PyPI's has to do.
$(VENV)/.models: pyproject.toml | $(BIN)/uv
	$(if $(LINKS),,$(INSTALL) --torch-backend=auto --editable ".[models]" ||) \
	    $(INSTALL) --editable ".[models]"
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/uv
	$(INSTALL) --editable ".[test]"
	touch $@
