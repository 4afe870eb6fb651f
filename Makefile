# Veridical: `make` lists the targets. Each sets up its own virtual environment (.venv) when needed.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PEERS  := $(VENV)/.peers
LOG    := $(VENV)/pip.log

# $(call install,WHAT) lets pip write into a log; the end of it is shown only if it fails.
install = $(BIN)/pip install -c constraints.txt $(1) >>$(LOG) 2>&1 || { \
	grep -v "^WARNING: Location" $(LOG) | tail -n 20; echo "pip failed; $(LOG) has all that it said"; exit 1; }

.PHONY: help venv demo test check bench docs clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV), 1 of 3: Python"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV), 2 of 3: torch (a minute or two)"
	@$(call install,torch==2.13.0)
	@echo "Setting up $(VENV), 3 of 3: all other packages (some minutes)"
	@$(call install,-e '.[dev]')
	@touch $(STAMP)

venv: $(STAMP)  ## create .venv with everything the other targets need

demo: $(STAMP)  ## train, explain, show and audit on the embedded model and data (about 2 minutes)
	@$(BIN)/python examples/demo.py

test: $(STAMP)  ## run the tests
	@$(BIN)/python -m pytest -n 2 -m "not slow"

check: $(STAMP)  ## lint, types, layers, generated docs
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
	@$(BIN)/python docs/generate.py --check

$(PEERS): $(STAMP)
	@echo "Setting up $(VENV): the libraries that ours is compared with (some minutes)"
	@$(call install,-e '.[dev,bench]')
	@touch $(PEERS)

bench: $(PEERS)  ## measure speed, memory and accuracy, also against other libraries (about 45 minutes)
	@$(BIN)/python benchmarks/run.py $(PARTS)

docs: $(STAMP)  ## build the documentation into site/
	@$(BIN)/python docs/generate.py && NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q && echo "site/index.html"

clean:  ## remove the virtual environment and built files
	@rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache
