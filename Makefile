# On a new machine with Python, pip, make and git these are the only commands needed:
#   make demo   learn and score two predictive distributions, save a picture
#   make test   run the tests
# Every target makes the virtual environment it needs when it is missing. There are three, so that no target finds
# by luck what its own extra lacks: .venv for the tests and tools, whose extras contain each other, .venv-bench for
# the benchmarks and their competitors, .venv-docs for the documentation. `make fresh` shows that each target passes alone.

PYTHON ?= python3
BIN    := .venv/bin
BENCH  := .venv-bench/bin
DOCS   := .venv-docs/bin
# one process for each core, each with one thread: LightGBM's threads wait for each other by spinning
PYTEST := -m pytest -n auto --dist worksteal
ONE    := OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-cluster test-neural lint docs bench speed studies harden fresh

help: ## say what each target does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /' | sed 's/^/  make /'

# -qq: errors only; --no-compile: modules are compiled when they are first imported, which takes half the time
define install
@echo "== installing diffgbm[$*] into $(@D)"
@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
@$(@D)/bin/python -m pip install -qq --no-compile --disable-pip-version-check -e ".[$*]"
@touch $@
endef

.venv/.installed-%: pyproject.toml
	$(install)

.venv-bench/.installed-%: pyproject.toml
	$(install)

.venv-docs/.installed-%: pyproject.toml
	$(install)

demo: .venv/.installed-demo ## learn p(y | x) on embedded data, print scores, save demo.png
	@echo "== demo: fits six models to two tables, scores them, saves demo.png and demo.html (about a minute)"
	@$(BIN)/python -m diffgbm.cli.demo

test: .venv/.installed-test ## run the tests
	@echo "== tests"
	@$(ONE) $(BIN)/python $(PYTEST)

test-neural: .venv-bench/.installed-test-neural ## run the tests of the competitors: installs PyTorch, CatBoost, XGBoost, NGBoost, quantile-forest, TabICL
	@echo "== tests of the benchmark families that need other packages"
	@$(ONE) $(BENCH)/python $(PYTEST) tests/external

test-cluster: .venv/.installed-test ## run the tests on a Dask cluster of two processes, which want the cores to themselves
	@echo "== tests of a cluster on this machine"
	@$(ONE) $(BIN)/python -m pytest tests/dask

test-browser: .venv/.installed-test-browser ## look at a report in Chromium: installs playwright, and Chromium if it may
	@echo "== tests in a browser"
	@(command -v chromium || command -v chromium-browser || command -v google-chrome) >/dev/null \
	  || (apt-get update -qq && apt-get install -y -qq chromium) \
	  || (echo "Chromium is missing and could not be installed with apt-get." >&2; exit 1)
	@REQUIRE_BROWSER=1 $(ONE) $(BIN)/python -m pytest tests/browser

lint: .venv/.installed-dev ## check style and types
	@echo "== ruff and mypy"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

docs: .venv-docs/.installed-docs ## build the documentation into docs/_build
	@echo "== documentation, warnings are errors"
	@$(DOCS)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: .venv-bench/.installed-bench ## go through the paper's protocol on two small tables (under five minutes)
	@echo "== benchmark: tunes, evaluates and tabulates every installed family, into benchmarks/results/quick"
	@$(BENCH)/python -m benchmarks run --quick

speed: .venv-bench/.installed-bench ## measure sampling against the released diffgbm (a few minutes; needs california_housing)
	@echo "== benchmark: sampling beside the released diffgbm, which is installed into .venv-peers"
	@$(BENCH)/python -m benchmarks engine --quick

studies: .venv-bench/.installed-bench ## run every study of the paper's tables and figures, made small (a few minutes)
	@echo "== studies: every table and figure of the paper on few rows, into benchmarks/results/quick/paper"
	@$(ONE) $(BENCH)/python -m benchmarks study all --quick

harden: .venv/.installed-harden ## attack the library for some minutes: made-up tables, fuzzed files, a soak, kills
	@echo "== hardening, the quick form: nothing is recorded"
	@$(ONE) $(BIN)/python $(PYTEST) tests/hardening
	@$(ONE) $(BIN)/python -m reliability fuzz-model --minutes 1 --quick
	@$(ONE) $(BIN)/python -m reliability fuzz-forest --minutes 1 --quick
	@$(ONE) $(BIN)/python -m reliability soak --minutes 1 --quick
	@$(ONE) $(BIN)/python -m reliability threads --minutes 1 --quick
	@$(ONE) $(BIN)/python -m reliability load --minutes 1 --quick
	@$(ONE) $(BIN)/python -m reliability kills --kills 2 --minutes 1 --quick

fresh: ## run each target in a clone of its own, in which no other ran; TARGETS="lint docs" chooses
	@.ci/fresh $(TARGETS)
