# Every target uses a virtual environment of its own, so it works where the system's Python refuses to install.
#   make demo          train four explorers, then a small version of the paper's tables beside the paper's
#   make test          lint, types, all tests
#   make test-all      as make test, with every combination of explorers, memories, worlds and settings
#   make coverage      all tests, with a report of the lines that they do not reach
#   make check         lint, types, the fast tests: under 90 seconds once everything is compiled
#   make test-oldest   the tests of the core with the oldest supported versions of the dependencies
#   make fuzz          the tests that try random inputs, with FUZZ_EXAMPLES new ones each where `make test` has 25
#   make docs          the documentation, in build/docs; fails on any warning or broken internal link
#   make clean         remove the environments and everything that was built
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
OLDEST = $(VENV)-oldest
DOCS = $(VENV)-docs
WORKERS ?= 2
FUZZ_EXAMPLES ?= 250

.PHONY: demo test test-all coverage check test-oldest fuzz docs clean

demo: $(VENV)/ready
	$(BIN)/python examples/demo.py
	$(BIN)/wanderlust reproduce recap --quick --out results

test: $(VENV)/ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS)

test-all: $(VENV)/ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS) -m ""

coverage: $(VENV)/ready-for-tests
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report=term:skip-covered

check: $(VENV)/ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS) -m "not slow and not exhaustive"

test-oldest: $(OLDEST)/ready
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) tests/learning/test_oracle.py tests/learning/test_golden.py tests/learning/test_drivers.py \
	    tests/_numba/test_compiled_cache.py

fuzz: $(VENV)/ready-for-tests
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/pytest -n $(WORKERS) -m "hypothesis or fuzz" --hypothesis-profile=fuzz \
	    --hypothesis-show-statistics

docs: $(DOCS)/ready
	$(DOCS)/bin/python docs/site/assemble.py build/docs-source
	$(DOCS)/bin/sphinx-build -W --keep-going -q -j $(WORKERS) -c docs/site -b html -d build/docs-cache build/docs-source build/docs
	$(DOCS)/bin/python docs/site/check_site.py build/docs

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/ready-for-tests: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@

$(OLDEST)/ready: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet -e . -c tests/oldest.txt pytest pytest-xdist hypothesis
	touch $@

$(DOCS)/ready: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(DOCS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find src tests examples -name __pycache__ -type d -exec rm -rf {} +
