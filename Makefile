# Everything runs in .venv; `make setup` makes it.
PYTHON ?= python3
RUN = .venv/bin/python
export PYTHONDONTWRITEBYTECODE = 1

.PHONY: setup check lint test requirements docs fuzz oracle dst-board bench-next bench-spread

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

docs:  ## write into the pages what their examples print now
	$(RUN) -m tests.docs.refresh

FUZZ_SECONDS ?= 1200

fuzz:  ## every parser under atheris for its share of FUZZ_SECONDS, in an environment of its own
	UV_PROJECT_ENVIRONMENT=.venv-fuzz uv run --frozen --python 3.11 --no-default-groups --group fuzz \
		python -m tests.fuzz $(FUZZ_SECONDS)

bench-spread:  ## the busiest minute of 10,000 daily jobs: at midnight, as sentences, by a flat hash
	$(RUN) benchmarks/spread.py

bench-next:  ## the speed and size of the calendar beside croniter, cronsim and croniter-rs
	$(RUN) -m benchmarks.next

oracle:  ## 100,000 random cases of the calendar against a minute-walking oracle
	$(RUN) -m benchmarks.campaign

dst-board:  ## write the board of clock changes into docs/dst.md
	$(RUN) -m benchmarks.dst_board
