# On a new machine with Python, pip, make and git these are the only commands needed:
#   make demo   learn and score two predictive distributions, save a picture
#   make test   run the tests
# Every target makes the virtual environment it needs when it is missing.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# one process for each core, each with one thread: LightGBM's threads wait for each other by spinning
PYTEST  = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-cluster test-neural lint docs bench speed studies harden

help: ## say what each target does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /' | sed 's/^/  make /'

$(VENV)/.installed-%: pyproject.toml
	@echo "== installing diffgbm[$*] into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	@touch $@

demo: $(VENV)/.installed-demo ## learn p(y | x) on embedded data, print scores, save demo.png
	@echo "== demo: fits two tables, scores them beside a constant-variance baseline, saves demo.png"
	@$(BIN)/python -m diffgbm.cli.demo

test: $(VENV)/.installed-test ## run the tests
	@echo "== tests"
	@$(PYTEST)

test-neural: $(VENV)/.installed-test-neural ## run the tests of the competitors: installs PyTorch, CatBoost, XGBoost, NGBoost
	@echo "== tests of the benchmark families that need other packages"
	@$(PYTEST) tests/external

test-cluster: $(VENV)/.installed-test ## run the tests on a Dask cluster of two processes, which want the cores to themselves
	@echo "== tests of a cluster on this machine"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/cluster

test-browser: $(VENV)/.installed-test-browser ## look at a report in Chromium: installs playwright, and Chromium if it may
	@echo "== tests in a browser"
	@(command -v chromium || command -v chromium-browser || command -v google-chrome) >/dev/null \
	  || (apt-get update -qq && apt-get install -y -qq chromium) \
	  || (echo "Chromium is missing and could not be installed with apt-get." >&2; exit 1)
	@REQUIRE_BROWSER=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser

lint: $(VENV)/.installed-dev ## check style and types
	@echo "== ruff and mypy"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

docs: $(VENV)/.installed-docs ## build the documentation into docs/_build
	@echo "== documentation, warnings are errors"
	@$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(VENV)/.installed-bench ## go through the paper's protocol on two small tables (under five minutes)
	@echo "== benchmark: tunes, evaluates and tabulates every installed family, into benchmarks/results/quick"
	@$(BIN)/python -m benchmarks run --quick

speed: $(VENV)/.installed-bench ## measure sampling against the released diffgbm (a few minutes; needs california_housing)
	@echo "== benchmark: sampling beside the released diffgbm, which is installed into .venv-peers"
	@$(BIN)/python -m benchmarks engine --quick

studies: $(VENV)/.installed-bench ## run every study of the paper's tables and figures, made small (a few minutes)
	@echo "== studies: every table and figure of the paper on few rows, into benchmarks/results/quick/paper"
	@OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks study all --quick

harden: $(VENV)/.installed-harden ## attack the library for some minutes: made-up tables, fuzzed files, a soak, kills
	@echo "== hardening, the quick form: nothing is recorded"
	@$(PYTEST) tests/hardening
	@OMP_NUM_THREADS=1 $(BIN)/python -m reliability fuzz-model --minutes 1 --quick
	@OMP_NUM_THREADS=1 $(BIN)/python -m reliability fuzz-forest --minutes 1 --quick
	@OMP_NUM_THREADS=1 $(BIN)/python -m reliability soak --minutes 1 --quick
	@OMP_NUM_THREADS=1 $(BIN)/python -m reliability kills --kills 2 --minutes 1 --quick
