# On a new machine with Python 3.11+, make and git, two commands are enough: `make demo` and `make test`.

CHECK := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do $$p -c '$(CHECK)' 2>/dev/null && echo $$p && break; done)
COMPILE := from sterna import Normal, sample; sample(lambda x: -x * x, {"x": Normal(0, 1)}, n_rounds=3, explorer="slice", progress=False)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint engine hooks coverage release laws figures evidence honesty chains explorers ising models theory bench compare clean

demo: $(VENV)/.installed
	@$(BIN)/python examples/transmitter.py

# Tests start many processes: each would otherwise compile the source of sterna again.
unexport PYTHONDONTWRITEBYTECODE

# Both test processes need the engine: it is compiled once, on the core that lint does not use.
test: $(VENV)/.developing
	@$(MAKE) -j 2 lint engine
	@$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal --durations=25
	@$(BIN)/coverage combine --quiet
	@$(MAKE) --no-print-directory coverage

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

engine: $(VENV)/.developing
	@$(BIN)/python -c '$(COMPILE)'

# The ten files that the last `make test` covered least, and the total.
coverage: $(VENV)/.developing
	@echo "Coverage of lines and branches, without functions that Numba compiles, because machine code cannot be traced:"
	@$(BIN)/coverage report | sed -n "1,12p;/^TOTAL/p"

# ruff and mypy before every commit.
hooks: $(VENV)/.developing
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pre-commit>=4'
	$(BIN)/pre-commit install

# Everything for a release but the upload: docs/releasing.md.
release: $(VENV)/.made
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6'
	rm -rf dist .cache/trial
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m venv .cache/trial
	.cache/trial/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd .cache/trial && bin/sterna --version && bin/sterna run normal --rounds 4 --explorer slice

laws: $(VENV)/.developing
	$(BIN)/python -m pytest tests -m laws

figures: $(VENV)/.developing
	$(BIN)/python bench/figures.py

evidence: $(VENV)/.developing
	$(BIN)/python bench/evidence.py

honesty: $(VENV)/.developing
	$(BIN)/python bench/honesty.py

chains: $(VENV)/.developing
	$(BIN)/python bench/chains.py

explorers: $(VENV)/.developing
	$(BIN)/python bench/explorers.py
	$(BIN)/python bench/evaluations.py

ising: $(VENV)/.developing
	$(BIN)/python bench/ising.py

models: $(VENV)/.developing
	$(BIN)/python bench/models.py

theory: $(VENV)/.developing
	$(BIN)/python bench/theory.py

bench: $(VENV)/.developing
	$(BIN)/python bench/speed.py
	$(BIN)/python bench/startup.py

# All packages on all problems, at most 8 hours; OPTIONS="--quick" takes minutes. bench/compare/README.md.
compare: .cache/compare/.installed
	.cache/compare/bin/python bench/compare/run.py $(OPTIONS)

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache bench/build
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "sterna needs Python 3.11 or newer, but none was found on the path. Install it, or write make PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

.cache/compare/.installed: bench/compare/requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "sterna needs Python 3.11 or newer: write make PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv .cache/compare
	@echo "Installing the packages to compare with into .cache/compare (a few minutes the first time) ..."
	@.cache/compare/bin/python -m pip install --quiet --disable-pip-version-check -r bench/compare/requirements.txt -e .
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo "Installing sterna into $(VENV) (about a minute the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.developing: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
