# Works on a fresh machine: needs make and one Python from 3.10 to 3.13, makes its own .venv, needs no system Graphviz.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# pyenv and others put stand-ins on PATH that exist and do not run, hence the question to each.
ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3.10 python3; do \
  $$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1 && { echo $$p; break; }; done)
endif

VENV ?= .venv
# How many processes the tests with TensorFlow run in.
WORKERS ?= 2
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q install -c constraints.txt
export TF_CPP_MIN_LOG_LEVEL ?= 3

# Their docstrings hold examples, run with the pure tests.
PURE := tapetrace/model tapetrace/analysis tapetrace/render $(wildcard tapetrace/specs.py tapetrace/targets.py tapetrace/config.py)

# A folder a process: what Python has to look through for living variables grows with every test.
TENSORFLOW_TESTS := $(filter-out tests/unit/ tests/properties/ tests/pictures/ tests/browser/,$(sort $(dir $(wildcard tests/*/test_*.py))))

N ?= 200
SEED ?= 1

.PHONY: help demo test browser lint docs bench mutants fuzz ops-proof matrix other-code samples constraints clean

help:
	@sed -n 's/^## //p' Makefile

define made
	@test -n "$(PYTHON)" || { echo "No Python from 3.10 to 3.13 found: install one, or name it with make PYTHON=/path/to/python3." >&2; exit 2; }
	@test -x $(BIN)/python || { echo "making $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); }
	@$(PIP) --upgrade pip
endef

$(VENV)/.made-test: pyproject.toml constraints.txt
	$(made)
	@echo "installing tapetrace and what its tests need"
	@$(PIP) --build-constraint constraints.txt --editable . --group test
	@touch $@

$(VENV)/.made-lint: $(VENV)/.made-test
	@$(PIP) --group lint
	@touch $@

$(VENV)/.made-docs: $(VENV)/.made-test
	@$(PIP) --group docs
	@touch $@

$(VENV)/.made-browser: $(VENV)/.made-test
	@$(PIP) --group browser
	@touch $@

## make demo          check a MobileNetV2 training step with a planted fault: text here, pictures in .demo/
demo: $(VENV)/.made-test
	@mkdir -p .demo
	@code=0; $(BIN)/tapetrace check samples/mobilenet.py:train_step --args samples/mobilenet.py:make_batch \
	  -o .demo/mobilenet.svg -o .demo/mobilenet.pdf || code=$$?; \
	if [ $$code -ne 1 ]; then echo "make demo: the fault was planted, so exit code 1 was expected, not $$code" >&2; exit 2; fi; \
	ls -l .demo/mobilenet.svg .demo/mobilenet.pdf

## make test          all tests: first the pure ones (no TensorFlow), then the rest
test: $(VENV)/.made-test
	$(BIN)/python -m pytest -q --doctest-modules tests/unit $(PURE)
	$(BIN)/python -m pytest -q tests/properties tests/pictures
	for folder in $(TENSORFLOW_TESTS); do $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $$folder; done

## make browser       the HTML page in a headless Chromium, which has to be there (apt-get install chromium chromium-driver)
browser: $(VENV)/.made-browser
	$(BIN)/python -m pytest -q tests/browser

## make lint          ruff, mypy --strict, import-linter
lint: $(VENV)/.made-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

## make docs          the documentation, in docs/_build/html
docs: $(VENV)/.made-docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

## make bench         how long a check takes, against tracing alone
bench: $(VENV)/.made-test
	$(BIN)/python bench/check.py
	$(BIN)/python bench/trace_overhead.py

## make mutants N=200 SEED=1   plant N breaks at random in real networks and compare the reports with what was planted
mutants: $(VENV)/.made-test
	$(BIN)/python -m tests.models.mutants --count $(N) --seed $(SEED)

## make fuzz N=200 SEED=1      run N random programs and hold each report against what TensorFlow hands back
fuzz: $(VENV)/.made-test
	$(BIN)/python -m tests.proof.fuzz --count $(N) --seed $(SEED)

## make ops-proof     each op that can be run here between variables and a loss, held against TensorFlow; renews tests/proof/ops_not_made.txt
ops-proof: $(VENV)/.made-test
	$(BIN)/python -m tests.proof.ops --write

## make matrix       the tests with other versions of Python and TensorFlow; writes docs/versions.md
matrix: $(VENV)/.made-test
	$(BIN)/python tests/proof/matrix.py

## make other-code   other people's libraries, as they are and under tapetrace run, each in an environment of its own in .others/
other-code: $(VENV)/.made-test
	$(BIN)/python tests/proof/other_code.py

## make samples       write samples/expected/ anew from what tapetrace says now
samples: $(VENV)/.made-test
	$(BIN)/python samples/regenerate.py

## make constraints   resolve constraints.txt anew from pyproject.toml
constraints: $(VENV)/.made-lint
	$(PIP) uv
	{ sed -n '/^#/p' constraints.txt; \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --all-extras --group test --group browser --group lint --group docs --group build \
	  --no-annotate --no-header --no-emit-index-url --no-emit-find-links --allow-unsafe pyproject.toml; } > constraints.new
	mv constraints.new constraints.txt

## make clean         remove what was built, the virtual environment included
clean:
	rm -rf $(VENV) .demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
