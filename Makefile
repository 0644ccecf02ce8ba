# Everything happens in a virtual environment of its own, so it works where the system's Python refuses to install.
#   make demo    train four explorers, then the paper's tables in small beside the paper's
#   make test    style, types and tests
#   make clean   remove the environment and all that was built
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test clean

demo: $(VENV)/ready
	$(BIN)/python examples/demo.py
	$(BIN)/wanderlust reproduce recap --quick --out results

test: $(VENV)/ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/ready-for-tests: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -exec rm -rf {} +
