# Veridical: `make` lists the targets. Each sets up its own virtual environment (.venv) when needed.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PEERS  := $(VENV)/.peers

.PHONY: help venv demo test check bench docs clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (some minutes the first time) ..."
	@$(BIN)/pip install -q -c constraints.txt torch==2.13.0
	@$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

venv: $(STAMP)  ## create .venv with everything the other targets need

demo: $(STAMP)  ## train, explain, show and audit on the embedded model and data (about 6 minutes)
	@$(BIN)/python examples/demo.py

test: $(STAMP)  ## run the tests
	@$(BIN)/python -m pytest -n 2 -m "not slow"

check: $(STAMP)  ## lint, types, layers, generated docs
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
	@$(BIN)/python docs/generate.py --check

$(PEERS): $(STAMP)
	@echo "Installing the libraries that ours is compared with ..."
	@$(BIN)/pip install -q -c constraints.txt -e '.[dev,bench]'
	@touch $(PEERS)

bench: $(PEERS)  ## measure speed, memory and accuracy, also against other libraries (about 45 minutes)
	@$(BIN)/python benchmarks/run.py $(PARTS)

docs: $(STAMP)  ## build the documentation into site/
	@$(BIN)/python docs/generate.py && NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q && echo "site/index.html"

clean:  ## remove the virtual environment and built files
	@rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache
