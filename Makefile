# Two commands on a fresh machine: `make demo` and `make test`. Needs Python 3.11 or newer and git.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/pytest -q -n auto --dist loadgroup

help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

demo: .venv/core ## run on built-in data: truths, sources, how right they are, and a report to open
	$(BIN)/veracity demo --out demo-run --force

test: lint browser postgres java ## run the checks and all tests that are not marked slow
	$(PYTEST) -m "not slow"

test-all: lint browser postgres java ## run every check and test, also on a plainer processor, without extras and as a wheel
	$(PYTEST)
	$(MAKE) test-plain bare package

test-plain: .venv/dev ## run pages, examples and golden numbers as on a plainer processor
	$(BIN)/python tests/plain_cpu.py -q -n auto src tests/test_docs.py tests/golden \
	  --deselect 'tests/test_docs.py::test_page_does_what_it_shows[docs/spark.md]'  # it shows counts only

lint: .venv/dev ## check format, style, types, imports and spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell src tests docs benchmarks tools *.md
	$(BIN)/lint-imports
	$(BIN)/mypy

check: test      ## the same as test

bare:            ## try the package as it is without extras, and not in this folder
	$(PYTHON) -m venv .venv-bare
	.venv-bare/bin/python -m pip install -q -c constraints.txt .
	cd .venv-bare && bin/veracity demo --out run --force

browser:         ## install Debian's Chromium, in which pages are tested, where it is missing
	@if ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null; then \
	  sudo=$$(test $$(id -u) = 0 || echo sudo -n); \
	  for try in 1 2 3; do \
	  { $$sudo apt-get update -q && $$sudo apt-get install -qy --no-install-recommends \
	  chromium chromium-driver; } >/dev/null && break || echo "no Chromium yet: pages need it"; done; fi

postgres:        ## install Debian's PostgreSQL, of which tests start a server, where it is missing
	@if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
	  && command -v apt-get >/dev/null; then \
	  sudo=$$(test $$(id -u) = 0 || echo sudo -n); \
	  for try in 1 2 3; do \
	  { $$sudo apt-get update -q && $$sudo apt-get install -qy --no-install-recommends \
	  postgresql; } >/dev/null && break || echo "no PostgreSQL yet: databases need it"; done; fi

java:            ## install the system's Java, on which Spark runs, where there is none
	@if ! command -v java >/dev/null && command -v apt-get >/dev/null; then \
	  sudo=$$(test $$(id -u) = 0 || echo sudo -n); \
	  for try in 1 2 3; do \
	  { $$sudo apt-get update -q && $$sudo apt-get install -qy --no-install-recommends \
	  default-jre-headless; } >/dev/null && break || echo "no Java yet: Spark needs it"; done; fi

docs: .venv/dev  ## build the site of the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q
	@echo "now open site/index.html in a browser"

package: .venv/package ## build wheel and sdist, and try them as a stranger would: ready to publish
	$(BIN)/python tests/package.py

format: .venv/dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/dev ## print the ratios of the benchmarks, at 10^6 claims; BENCH=--full for 10^7
	$(BIN)/python benchmarks/run.py $(BENCH)

stats:           ## count lines of code, statements and files of the package, by folder
	@$(PYTHON) tools/stats.py

attack: .venv/dev ## attack the program for minutes; ATTACK='--minutes 120 --seed 7' for longer
	PYTHONPATH=tests $(BIN)/python -m attack $(ATTACK)

mutate: .venv/dev ## try whether tests notice faults, in a fixed sample; MUTATE=algorithms/ltd_rbm: in a module
	$(BIN)/python tests/mutate.py $(MUTATE)

clean:           ## remove what the other targets made
	rm -rf .venv .venv-bare build demo-run dist site

.venv/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[plot]'
	touch $@

.venv/dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@ .venv/core

.venv/package: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[package]'
	touch $@

.PHONY: help demo test test-all test-plain lint check bare browser postgres java docs package format bench stats attack mutate clean
