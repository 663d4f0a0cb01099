# Everything runs in .venv; `make setup` makes it.
PYTHON ?= python3
RUN = .venv/bin/python
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup check lint test lowest requirements docs fuzz oracle dst-board bench-next bench-spread bench-plan bench-service bench-webhooks campaigns protocol kills nemesis nemesis-document simulate mutants year bench-ticks traces embedded-kills transaction-kills embedded-together embedded-sharing schemathesis service-kills bench-million failover bench-edit soak bench-sizes bench-embedded alerts alerts-quiet burst burst-hanging

help:  ## list the targets; `make` without a target does the same
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { name[++n] = $$1; text[n] = $$2; if (length($$1) > width) width = length($$1) } \
		END { for (i = 1; i <= n; i++) printf "%-" width "s  %s\n", name[i], text[i] }' $(firstword $(MAKEFILE_LIST))

setup:  ## a .venv with everything
	uv sync --python $(PYTHON)

check: lint  ## style, types, layers and the fast tests; under a minute
	$(RUN) -m pytest -n auto -m "not slow and not campaign"

lint:  ## check style, types and import layers
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo

test:  ## every test
	$(RUN) -m pytest -n auto -m "not campaign"

LOWEST = tests/launchers/test_post.py tests/launchers/test_kubernetes.py tests/service/test_resources.py \
	tests/service/test_tokens.py tests/service/test_tracing.py tests/stores/test_change.py \
	tests/cli/test_compile.py tests/cli/test_load.py

lowest:  ## a part of the fast tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	uv venv --quiet --clear --python $(RUN) .venv-lowest
	uv pip install --quiet --python .venv-lowest --resolution lowest-direct \
		-e '.[kubernetes,otel,postgres,service,yaml]' 'opentelemetry-sdk>=1.27' \
		'pytest>=9.1,<9.2' 'pytest-timeout>=2.4' 'pytest-xdist>=3.6' 'hypothesis>=6.140'
	.venv-lowest/bin/python -m pytest -n 3 -m "not slow and not campaign" $(LOWEST)

campaigns:  ## the long ones too: a thousand hours of a cluster, planted bugs, the model
	$(RUN) -m pytest -n auto -m campaign

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

bench-webhooks:  ## webhook launches a second, CPU and memory for each, with connections used again and without
	$(RUN) -m benchmarks.webhooks

bench-service:  ## the service: definitions, reads and webhooks a second
	$(RUN) -m benchmarks.service

bench-million:  ## a million schedules through the bulk of the service, then 200 edits and reads a second; p99 below 50 ms
	$(RUN) -m benchmarks.million

bench-plan:  ## what the engine adds to a decision, and how fast a worker is over the store in memory
	$(RUN) -m benchmarks.plan

bench-embedded:  ## 100,000 and 1,000,000 tasks due in one minute, beside APScheduler 3 and Celery beat
	$(RUN) -m benchmarks.embedded

bench-ticks:  ## 100,000 schedules due in one second on PostgreSQL, beside bare statements that decide nothing
	$(RUN) -m benchmarks.ticks

bench-edit:  ## 100,000 schedules loaded; then one of a million edited, or of KRON_EDIT_COUNT
	$(RUN) -m benchmarks.edit

bench-sizes:  ## what a tick costs among 10,000 schedules and among a million; KRON_SIZES names other sizes
	$(RUN) -m benchmarks.ticks.sizes

oracle:  ## 100,000 random cases of the calendar against a minute-walking oracle
	$(RUN) -m benchmarks.campaign

dst-board:  ## write the board of clock changes into docs/dst.md
	$(RUN) -m benchmarks.dst_board

protocol:  ## the model of the protocol in every order of events, and without each protection; needs java
	$(RUN) docs/protocol/check.py

nemesis:  ## 30 minutes of real workers on a real PostgreSQL, while everything goes wrong that may
	$(RUN) -m tests.campaigns.nemesis

nemesis-document:  ## the protocol of the cron-service document and ours under the same nemesis, a minute each
	$(RUN) -m tests.campaigns.nemesis.compare

failover:  ## the leader of a Patroni pair killed three times under load, without and with synchronous replication
	$(RUN) -m tests.campaigns.failover

SOAK_MINUTES ?= 30
SOAK_RATE ?= 100

soak:  ## a steady load for SOAK_MINUTES; whether tables and lateness stay flat, and docs/pictures/soak.svg
	$(RUN) -m tests.campaigns.soak --minutes $(SOAK_MINUTES) --rate $(SOAK_RATE) --picture docs/pictures/soak.svg

kills:  ## 200 kill -9 of workers on one SQLite file under load; then every period is accounted for
	$(RUN) -m tests.campaigns.sqlite_kills

SEEDS ?= 1350

simulate:  ## 10,000 hours of a cluster under 100,000 crashes and pauses, on every core; then every period is accounted for
	$(RUN) -m tests.simulation run $(SEEDS)

mutants:  ## planted bugs, and how many seeds it takes to find each
	$(RUN) -m tests.simulation mutants

year:  ## a year of 10,000 daily schedules, and the digest of its ledger
	$(RUN) -m tests.simulation year

traces:  ## 200,000 random lives of the embedded scheduler, held against the rules of its document
	$(RUN) -m tests.embedded.traces

embedded-kills:  ## 100 kill -9 of an application in the middle of its callbacks; every orphan starts again, once
	$(RUN) -m tests.embedded.kills 100 sqlite
	$(RUN) -m tests.embedded.kills 100 postgres

transaction-kills:  ## 1,000 kill -9 between writes and their commits; every row has its run, and every run its row
	$(RUN) -m tests.embedded.transaction_kills 1000

MINUTES ?= 10

embedded-together:  ## four applications on one PostgreSQL for MINUTES, killed at random; each period runs once
	$(RUN) -m tests.embedded.together $$(($(MINUTES) * 60))

embedded-sharing:  ## two applications with different jobs on one database for MINUTES: every job runs at every period
	KRON_TEST_SHARING_SECONDS=$$(($(MINUTES) * 60)) $(RUN) -m pytest tests/embedded/test_sharing.py -k different_jobs

schemathesis:  ## 10,000 cases of the service's interface, right and wrong: only answers that it says, and no failure
	$(RUN) -m tests.campaigns.contract

service-kills:  ## 5 minutes of kill -9 of the interface and of workers under load; then every period is accounted for
	$(RUN) -m tests.campaigns.service_kills

burst:  ## 100,000 webhooks due in one second, two workers, default settings: each arrives once, and how late
	$(RUN) -m tests.campaigns.burst

burst-hanging:  ## 10,000 due in one second; 5 % of the targets hang: the others are no more than 10 % later at p99
	$(RUN) -m tests.campaigns.burst --hanging

alerts:  ## an API and two workers under a real Prometheus: every alert of deploy/alerts.yaml fires for its cause
	promtool check rules deploy/alerts.yaml
	$(RUN) -m tests.campaigns.alerts

alerts-quiet: MINUTES = 60
alerts-quiet:  ## ordinary load for MINUTES (60): no alert fires
	$(RUN) -m tests.campaigns.alerts --quiet $(MINUTES)

.PHONY: claims
claims:  ## take away, one by one, what requirements ask for: the tests that claim each must fail
	$(RUN) -m tests.claims $(IDS)
