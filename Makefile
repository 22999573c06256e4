# Every task of the repository. `make help` lists them; each makes what it needs first.
#
# One virtual environment, .venv, holds everything. A stamp file in it remembers each install, so a
# second run installs nothing; a change of pyproject.toml or constraints.txt installs again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install --constraint constraints.txt --editable
WANTS := Makefile pyproject.toml constraints.txt
# All that the package offers: pages and tests may use any of it.
EXTRAS := train,messages,cluster,design,explore,live
WORKERS ?= 2

# Two test processes share the machine, so each may use one thread for linear algebra: more only wait
# for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

PYTEST := $(ONE_THREAD) MPLBACKEND=agg $(BIN)/python -m pytest
# Files stay whole, since their tests share what is costly to make. Another order: SHUFFLE=any number.
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(if $(SHUFFLE),-p randomly --randomly-seed=$(SHUFFLE))
THOROUGH := tests/thorough
INTEGRATION := $(THOROUGH)/test_site.py $(THOROUGH)/test_wheel.py \
	$(THOROUGH)/peerbayes/explore/browser/test_basic.py $(THOROUGH)/peerbayes/live/test_basic.py
COMPILED := $(shell grep -rlE 'njit|cfunc' theory exact empirical --include=*.py)

.DEFAULT_GOAL := help
.PHONY: help verify test integration test-all properties frozen check format bench docs clean
.DELETE_ON_ERROR:

help:  ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

verify: $(VENV)/.core  ## predict and measure the built-in problems; ends with a table and a report
	$(BIN)/peerbayes verify

test: $(VENV)/.kernels  ## run the tests; six minutes on two cores
	$(PYTEST) $(SPREAD)

integration: $(VENV)/.kernels  ## run all pages, the site, the wheel, a browser, live agents
	$(PYTEST) $(SPREAD) docs --ignore docs/quickstart.md $(INTEGRATION)

test-all: $(VENV)/.kernels  ## run everything: large, slow, launched, in the browser; then properties
	$(PYTEST) $(SPREAD) docs tests README.md theory exact empirical peerbayes
	$(MAKE) properties

properties: $(VENV)/.kernels  ## try what must always hold on at least 10 000 new networks; minutes
	HYPOTHESIS_PROFILE=full $(PYTEST) tests/properties -n $(WORKERS) --dist worksteal

frozen: $(VENV)/.kernels  ## compare what the program says with what is frozen; four minutes of one core
	$(ONE_THREAD) $(BIN)/python -m tests.frozen compare --workers $(WORKERS)

check: $(VENV)/.check  ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.check  ## put the code into the common format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test  ## measure the speed of this machine; writes docs/benchmarks
	@mkdir -p docs/benchmarks
	$(BIN)/python -m benchmarks --out docs/benchmarks

docs: $(VENV)/.docs  ## build the documentation; a warning is an error
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -q -j $(WORKERS) -b html docs docs/_build/html
	@echo docs/_build/html/index.html

clean:  ## remove the environment and everything that was built
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	rm -rf docs/_build docs/reference/api/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments ---------------------------------------------------------------------------------

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; say which: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Each stamp is newer than what was installed, whichever of them came first.
$(VENV)/.core: $(WANTS) | $(VENV)/bin/python
	@echo "installing peerbayes and what it needs into $(VENV)"
	@$(INSTALL) .
	@touch $@

$(VENV)/.check: $(WANTS) | $(VENV)/bin/python
	@echo "installing the tools that check the code into $(VENV)"
	@$(INSTALL) '.[dev,train,messages,explore,live]'
	@touch $@

$(VENV)/.docs: $(WANTS) | $(VENV)/bin/python
	@echo "installing the documentation tools into $(VENV)"
	@$(INSTALL) '.[docs,$(EXTRAS)]'
	@touch $@

$(VENV)/.test: $(WANTS) | $(VENV)/bin/python
	@echo "installing everything the tests need into $(VENV)"
	@$(INSTALL) '.[test,docs,$(EXTRAS)]'
	@touch $@ $(VENV)/.core $(VENV)/.docs

# Compiled once, by all cores, before test processes would each compile the same. Numba does not
# notice a change in a kernel that another file's kernel calls: with any change, all are compiled.
$(VENV)/.kernels: $(VENV)/.test $(COMPILED) tests/kernels.py
	@echo "compiling the kernels of theory, exact and empirical"
	@find theory exact empirical -name '*.nb[ic]' -delete
	@$(ONE_THREAD) MPLBACKEND=agg $(BIN)/python -m tests.kernels $(WORKERS)
	@touch $@
