# Two commands: `make demo` asks questions over the samples, `make test` checks everything.
# Both make .venv first; after that nothing needs the network. `make check` is `make test` without the slow tests and
# those that need torch.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
ASK := $(BIN)/docsage ask --collection out/demo --boxes out/boxes

.PHONY: demo test check format lint types fast bench clean

# An abstention (exit code 3) is an outcome; only other codes fail the demo.
demo: $(VENV)/.installed
	@ask() { printf '\n> %s\n' "$$1"; $(ASK) "$$@" || test $$? -eq 3; }; set -e; \
	ask "By how much did the spending on dredging grow from 2024 to 2025?" samples/harbour-report.pdf; \
	ask "How much shore power was delivered in the third quarter of 2025?" samples/harbour-report.pdf; \
	ask "少儿科普讲座的名额是多少？" samples/scanned-notice.pdf; \
	ask "誰是文昌書院的山長？" samples/classical-page.png; \
	ask "How many cruise passengers came ashore in 2025?" samples/harbour-report.pdf
	@echo; echo "The cited pages, with their boxes drawn, are in out/boxes."

test: $(VENV)/.installed-local format lint types
	$(BIN)/python -m pytest

check: format lint types fast

format: $(VENV)/.installed
	$(BIN)/ruff format --check .

lint: $(VENV)/.installed
	$(BIN)/ruff check .

types: $(VENV)/.installed
	$(BIN)/mypy

fast: $(VENV)/.installed
	$(BIN)/python -m pytest -m "not slow and not local"

# make bench FOLDER=... measures on your own documents.
FOLDER ?= samples
bench: $(VENV)/.installed
	$(BIN)/python benchmarks/ingest.py $(FOLDER)

clean:
	rm -rf out build dist .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "docsage needs Python 3.11 or later, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1): try make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed: on Debian and Ubuntu, install the package python3-venv" >&2; rm -rf $(VENV); exit 1; }

# One environment for both commands: `make demo` and `make check` need the first part only, `make test` adds torch and
# transformers (7 GB) for the tests of local models.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.installed-local: $(VENV)/.installed
	$(PIP) --editable '.[dev,local,bertscore]'
	@touch $@
