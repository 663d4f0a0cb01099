# Everything runs in .venv; `make setup` makes it.
PYTHON ?= python3
RUN = .venv/bin/python

.PHONY: setup check lint test requirements

setup:  ## a .venv with everything
	uv sync --python $(PYTHON)

check: lint  ## style, types, layers and the fast tests; under a minute
	$(RUN) -m pytest -n auto -m "not slow"

lint:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo

test:  ## every test
	$(RUN) -m pytest -n auto

requirements:  ## the clauses of the specification that no test claims
	$(RUN) -m tests.requirements
