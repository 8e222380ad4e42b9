# Two commands for newcomers: `make demo` and `make test`. Both make their own environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A file of tests stays with one worker: its tests share kernels, which two workers would compile or wait for.
WORKERS ?= -n 2 --dist loadfile
# What takes long is told at the end: the tests are to stay under ten minutes on two cores.
SLOWEST ?= --durations 30 --durations-min 4
# Many tests start Python anew: bytecode is kept, beside the environment.
export PYTHONDONTWRITEBYTECODE =
export PYTHONPYCACHEPREFIX = $(CURDIR)/$(VENV)/pycache

.PHONY: help demo test test-slow torture lint format layers docs wheel viewer bench clean

help:
	@echo "make demo       install into $(VENV), build a small heap of grains and draw it"
	@echo "make test       install into $(VENV) and run the test suite"
	@echo "make test-slow  run the long tests too"
	@echo "make torture    hostile input and kills, counted: INPUTS=20000 KILLS=100"
	@echo "make lint       formatter, linter and type checker"
	@echo "make layers     check that imports point down only"
	@echo "make docs       build the documentation into docs/_build/html"
	@echo "make wheel      build the wheel and try it in new environments of the Pythons that are here"
	@echo "make viewer     build the page of the viewer (needs Node)"
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
	$(BIN)/python -m pip install --quiet -e '.[test,browser,mpi]'
	@touch $@

$(VENV)/.lint: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[lint]'
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/clapas run heap --grains 200 --relaxation 0.25 --dt 5e-4 --out heap.h5 --picture heap.png
	@echo "To look at it in the browser: $(BIN)/clapas view heap.h5"

test: $(VENV)/.test
	$(BIN)/python -m pytest $(WORKERS) $(SLOWEST)

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest $(WORKERS) -m "slow or not slow"

# Counts that fit one's patience: make torture INPUTS=1000000 KILLS=1000
INPUTS ?= 20000
KILLS ?= 100

torture: $(VENV)/.test
	CLAPAS_TORTURE_INPUTS=$(INPUTS) CLAPAS_TORTURE_KILLS=$(KILLS) \
	$(BIN)/python -m pytest -q -s -m "slow or not slow" tests/torture

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

layers: $(VENV)/.test
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "The documentation is docs/_build/html/index.html"

wheel:
	PYTHON=$(PYTHON) .ci/wheel

viewer:
	cd viewer && npm ci && npm run build

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.kernels

clean:
	rm -rf $(VENV) build dist docs/_build viewer/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
