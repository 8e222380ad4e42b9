# Two commands for newcomers: `make demo` and `make test`. Both make their own environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-slow lint format layers bench clean

help:
	@echo "make demo       install into $(VENV), build a small heap of grains and draw it"
	@echo "make test       install into $(VENV) and run the test suite"
	@echo "make test-slow  run the long tests too"
	@echo "make lint       formatter, linter and type checker"
	@echo "make layers     check that imports point down only"
	@echo "make bench      measure the kernels against a C reference"
	@echo "make clean      remove $(VENV) and caches"

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[lint]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/clapas run heap --out heap.h5 --picture heap.png

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m "slow or not slow"

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

layers: $(VENV)/.test
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.kernels

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
