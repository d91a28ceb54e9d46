# Two commands on a fresh machine: `make demo` and `make test`. Needs Python 3.11 or newer and git.
PYTHON ?= python3
BIN := .venv/bin

help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

demo: .venv/core ## run on built-in data: truths, sources, and how right they are
	$(BIN)/veracity demo --out demo-run --force

test: .venv/dev  ## run every test and check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks *.md
	$(BIN)/pytest -q

check: test      ## the same as test: there is one door

format: .venv/dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/dev ## print the ratios of the benchmarks, at 10^6 claims; BENCH=--full for 10^7
	$(BIN)/python benchmarks/run.py $(BENCH)

clean:           ## remove what the other targets made
	rm -rf .venv demo-run

.venv/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

.venv/dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@ .venv/core

.PHONY: help demo test check format bench clean
