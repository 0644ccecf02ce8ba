# Every target uses a virtual environment of its own, so it works where the system's Python refuses to install.
#   make demo          train four explorers, then a small version of the paper's tables beside the paper's
#   make test          lint, types, all tests
#   make test-all      as make test, with every combination of explorers, memories, worlds and settings
#   make coverage      all tests, with a report of the lines that they do not reach
#   make check         lint, types, the fast tests: under 90 seconds once everything is compiled
#   make test-oldest   the tests of the core with the oldest supported versions of the dependencies
#   make test-integrations  the tests with Stable-Baselines3, in an environment of their own (torch: several GB)
#   make fuzz          the tests that try random inputs, with FUZZ_EXAMPLES new ones each where `make test` has 25
#   make bench         speed as ratios to reference implementations; BENCH_OPTIONS=--quick takes a minute
#   make bench-check   a quick run, which fails if a ratio is 2 times worse than in benchmarks/speed.json
#   make try-wheel     build the wheel, install it outside of the repository, and use it as a newcomer would
#   make check-js      types, lint and unit tests of the studio's JavaScript, if npm is installed
#   make docs          the documentation, in build/docs; fails on any warning or broken internal link
#   make clean         remove the environments and everything that was built
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
OLDEST = $(VENV)-oldest
DOCS = $(VENV)-docs
INTEGRATIONS = $(VENV)-integrations
# Without bytecode, each of the many processes that tests start would compile all that it imports.
export PYTHONDONTWRITEBYTECODE =
WORKERS ?= 2
# Each worker gets neighbouring tests, which share what they set up, and takes over tests of another one when it is done.
PARALLEL = -n $(WORKERS) --dist worksteal
# Modules are compiled to bytecode when they are first imported: most of what is installed never is.
INSTALL = -m pip install --quiet --no-compile
FUZZ_EXAMPLES ?= 250
# Of `make test-integrations`; TORCH=torch==2.13.0 takes a build without CUDA where one is at hand.
TORCH ?= torch

.PHONY: demo test test-all coverage check test-oldest test-integrations fuzz bench bench-check try-wheel check-js docs clean

demo: $(VENV)/ready
	$(BIN)/python examples/demo.py
	$(BIN)/wanderlust reproduce recap --quick --out results

test check test-all: $(VENV)/ready-for-tests
	$(BIN)/ruff check .
	@# The type checker uses one core, so it runs beside the tests.
	@$(BIN)/mypy > $(VENV)/types.txt 2>&1 & types=$$!; \
	echo "$(BIN)/pytest $(PARALLEL) $(SELECTED)"; $(BIN)/pytest $(PARALLEL) $(SELECTED); tested=$$?; \
	wait $$types; typed=$$?; echo "$(BIN)/mypy"; cat $(VENV)/types.txt; exit $$((tested | typed))

check: SELECTED = -m "not slow and not exhaustive"
test-all: SELECTED = -m ""

coverage: $(VENV)/ready-for-tests
	$(BIN)/pytest $(PARALLEL) --cov --cov-report=term:skip-covered

test-oldest: $(OLDEST)/ready
	@# Every explorer is compiled; one process, because two would compile the same functions at the same time.
	$(OLDEST)/bin/python -m pytest tests/_numba $(addprefix tests/learning/,test_golden.py test_minibatches.py \
	    test_oracle.py::test_random_numbers test_oracle.py::test_tables_that_grow)

test-integrations: $(INTEGRATIONS)/ready
	OMP_NUM_THREADS=1 $(INTEGRATIONS)/bin/python -m pytest tests/integrations

fuzz: $(VENV)/ready-for-tests
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/pytest $(PARALLEL) -m "hypothesis or fuzz" --hypothesis-profile=fuzz \
	    --hypothesis-show-statistics

bench: $(VENV)/ready
	$(BIN)/python benchmarks/bench.py $(BENCH_OPTIONS)

bench-check: $(VENV)/ready
	$(BIN)/python benchmarks/bench.py --quick --check benchmarks/speed.json

try-wheel: $(VENV)/ready-for-tests
	$(BIN)/python .ci/try_wheel.py

check-js:
	@cd tests/studio/javascript; \
	if ! command -v npm > /dev/null; then echo "npm is not installed: the studio's JavaScript is not checked"; \
	elif ! npm install --no-package-lock --no-audit --no-fund --silent; then \
	echo "the tools cannot be installed: the studio's JavaScript is not checked"; \
	else npm test --silent; fi

docs: $(DOCS)/ready
	$(DOCS)/bin/python docs/site/assemble.py build/docs-source
	$(DOCS)/bin/sphinx-build -W --keep-going -q -j $(WORKERS) -c docs/site -b html -d build/docs-cache build/docs-source build/docs
	$(DOCS)/bin/python docs/site/check_site.py build/docs

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready: pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e .
	touch $@

# The code of all explorers is compiled once, beside pip, which uses one core; the tests find it in the cache.
COMPILE = import wanderlust as wl; [wl.train("toy", name, steps=9) for name in wl.explorer_names()]; \
    [wl.learn("FrozenLake-v1", name, steps=9, quiet=True) for name in wl.explorer_names()]

$(VENV)/ready-for-tests: pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e .
	@$(BIN)/python -c '$(COMPILE)' > /dev/null 2>&1 & compiled=$$!; \
	echo "$(BIN)/python $(INSTALL) -e '.[test]'"; $(BIN)/python $(INSTALL) -e '.[test]'; installed=$$?; \
	wait $$compiled; exit $$installed
	touch $@

$(OLDEST)/ready: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python $(INSTALL) -e . -c tests/oldest.txt pytest pytest-xdist hypothesis
	touch $@

$(INTEGRATIONS)/ready: pyproject.toml
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python $(INSTALL) $(TORCH)
	$(INTEGRATIONS)/bin/python $(INSTALL) -e '.[sb3]' pytest hypothesis
	touch $@

$(DOCS)/ready: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(INSTALL) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(DOCS) $(INTEGRATIONS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find src tests examples -name __pycache__ -type d -exec rm -rf {} +
