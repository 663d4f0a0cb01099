# All targets use .venv; `make setup` creates it.
PYTHON ?= python3
RUN = .venv/bin/python
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup check lint test lowest requirements docs docs-site docs-pictures screenshots fuzz oracle rrule debian-cron dst-board bench-next bench-spread bench-plan bench-service bench-webhooks campaigns protocol crash-sqlite chaos chaos-reference simulate mutation-tests year bench-ticks bench-counters trace-tests embedded-kills transaction-kills embedded-together embedded-sharing dashboard-looks schemathesis service-kills web-kills celery-kills bench-million failover bench-edit soak bench-load bench-ui bench-sizes bench-embedded alerts alerts-quiet burst burst-hanging burst-failing one-off krond-kills bench-krond deb deb-install krond-shadow krond-import krond-outcomes krond-privileges krond-hostile krond-clock

help:  ## list the targets; also the default target
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { name[++n] = $$1; text[n] = $$2; if (length($$1) > width) width = length($$1) } \
		END { for (i = 1; i <= n; i++) printf "%-" width "s  %s\n", name[i], text[i] }' $(firstword $(MAKEFILE_LIST))

setup:  ## create .venv with all dependencies
	uv sync --python $(PYTHON)

check: lint  ## check style, types and layers, and run the fast tests; under a minute
	$(RUN) -m pytest -n auto -m "not slow and not campaign"

lint:  ## check style, types and import layers
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/mypy --strict examples/*.py
	.venv/bin/lint-imports --no-logo

test:  ## run all tests except the campaigns
	$(RUN) -m pytest -n auto -m "not campaign"

LOWEST = tests/launchers/test_post.py tests/launchers/test_kubernetes.py tests/kube/test_transport.py \
	tests/service/test_resources.py \
	tests/service/test_tokens.py tests/service/test_tracing.py tests/stores/test_change.py \
	tests/cli/test_compile.py tests/cli/test_load.py tests/integrations/test_celery_schedule.py \
	tests/integrations/test_celery_jobs.py tests/integrations/test_celery_publisher.py

lowest:  ## run part of the fast tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	uv venv --quiet --clear --python $(RUN) .venv-lowest
	uv pip install --quiet --python .venv-lowest --resolution lowest-direct \
		-e '.[celery,kubernetes,otel,postgres,service,yaml]' 'opentelemetry-sdk>=1.27' \
		'pytest>=9.1,<9.2' 'pytest-timeout>=2.4' 'pytest-xdist>=3.6' 'hypothesis>=6.140'
	.venv-lowest/bin/python -m pytest -n 3 -m "not slow and not campaign" $(LOWEST)

campaigns:  ## run the long tests: 1,000 simulated cluster hours, planted bugs, the protocol model
	$(RUN) -m pytest -n auto -m campaign

requirements:  ## list the specification clauses that no test claims
	$(RUN) -m tests.requirements

docs:  ## write the generated pages, and refresh the example output in the others
	$(RUN) -m tests.docs.refresh

docs-site:  ## build the documentation site into build/site; needs no network
	DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

docs-pictures:  ## write the terminal captures of docs/pictures
	$(RUN) -m tests.docs.pictures

screenshots:  ## write the pictures of the dashboard in docs/pictures, light and dark, from a seeded store
	$(RUN) -m tests.dashboard.screenshots

FUZZ_SECONDS ?= 1200

fuzz:  ## fuzz every parser with atheris for FUZZ_SECONDS in total, in a separate environment
	UV_PROJECT_ENVIRONMENT=.venv-fuzz uv run --frozen --python 3.11 --no-default-groups --group fuzz \
		python -m tests.fuzz $(FUZZ_SECONDS)

bench-spread:  ## compare the busiest minute of 10,000 daily jobs: at midnight, as sentences, by a flat hash
	$(RUN) benchmarks/spread.py

bench-next:  ## compare speed and memory of the calendar with croniter, cronsim and croniter-rs
	$(RUN) -m benchmarks.next

bench-webhooks:  ## measure throughput, CPU and memory of webhook launches, with and without connection reuse
	$(RUN) -m benchmarks.webhooks

bench-service:  ## measure definitions, reads and webhooks per second of the service
	$(RUN) -m benchmarks.service

bench-million:  ## define 1,000,000 schedules in bulk; 200 edits and reads per second, p99 below 50 ms; label filters, below 20 ms
	$(RUN) -m benchmarks.million

bench-plan:  ## measure the engine's overhead per decision, and a worker on the memory store
	$(RUN) -m benchmarks.plan

bench-embedded:  ## compare 100,000 and 1,000,000 tasks due in one minute with APScheduler 3 and Celery beat
	$(RUN) -m benchmarks.embedded

bench-ticks:  ## compare 100,000 schedules due in one second on PostgreSQL with bare SQL statements
	$(RUN) -m benchmarks.ticks

bench-counters:  ## measure what the counters of outcomes add to 20,000 runs claimed and ended on PostgreSQL; at most 3 %
	$(RUN) -m benchmarks.ticks.run_lives

bench-edit:  ## load 100,000 schedules; then edit one of 1,000,000, or of KRON_EDIT_COUNT
	$(RUN) -m benchmarks.edit

bench-load:  ## measure a round of the load pass over KRON_LOAD_COUNT schedules, and the lateness of runs next to it
	$(RUN) -m benchmarks.load_pass

bench-ui:  ## open every page of the dashboard at 1,000,000 schedules, or KRON_UI_SCHEDULES; then 800 runs/s next to 20 viewers
	$(RUN) -m benchmarks.ui

bench-sizes:  ## measure a pass among 10,000 and 1,000,000 schedules; KRON_SIZES sets other sizes
	$(RUN) -m benchmarks.ticks.sizes

oracle:  ## compare 100,000 random calendar cases, and 100,000 of the plus dialect, with slow oracles
	$(RUN) -m benchmarks.campaign
	$(RUN) -m benchmarks.plus_campaign

rrule:  ## compare 100,000 random iCalendar recurrences with dateutil
	$(RUN) -m tests.campaigns.rrule

debian-cron:  ## compare 212 lines of real crontabs for a year with Debian's own cron, built from its source package
	$(RUN) -m tests.campaigns.debian_cron

dst-board:  ## write the DST comparison into docs/explanation/time-zones.md
	$(RUN) -m benchmarks.dst_board

protocol:  ## check the protocol model in every event order, and without each safeguard; needs Java
	$(RUN) docs/protocol/check.py

chaos:  ## run workers on PostgreSQL for 30 minutes under fault injection
	$(RUN) -m tests.campaigns.chaos

chaos-reference:  ## compare the cron-service protocol and Kron's under the same fault injection, 1 minute each
	$(RUN) -m tests.campaigns.chaos.compare

failover:  ## kill the leader of a Patroni pair three times under load, without and with synchronous replication
	$(RUN) -m tests.campaigns.failover

SOAK_MINUTES ?= 30
SOAK_RATE ?= 100

soak:  ## run a steady load for SOAK_MINUTES; check that tables and lateness stay flat; write docs/pictures/soak.svg
	$(RUN) -m tests.campaigns.soak --minutes $(SOAK_MINUTES) --rate $(SOAK_RATE) --picture docs/pictures/soak.svg

crash-sqlite:  ## kill -9 workers on one SQLite file 200 times under load; then audit every period
	$(RUN) -m tests.campaigns.sqlite_kills

krond-kills:  ## kill -9 krond 200 times while its commands run; each command starts once, and every period has an outcome
	$(RUN) -m tests.campaigns.krond_kills

krond-outcomes:  ## check the outcomes, concurrency policies, suspend and edits through real daemons
	$(RUN) -m pytest tests/daemon/test_outcomes.py tests/daemon/test_daemon.py tests/daemon/test_reload.py \
		tests/daemon/test_changed_while_down.py tests/daemon/test_unstarted.py

krond-privileges:  ## check the rights of users' commands, outputs and tables; needs root
	@test "$$(id -u)" = 0 || { echo "krond-privileges needs root" >&2; exit 1; }
	$(RUN) -m pytest -m privileges tests/daemon tests/launchers

krond-hostile:  ## give krond 50 bad tables, and files that are traps; each is refused with its reason, and the good table runs
	$(RUN) -m pytest tests/daemon/test_hostile.py tests/daemon/test_tables.py

krond-clock:  ## set the clock of krond by an hour and a day, both ways, and stop it for 90 s; nothing runs twice
	$(RUN) -m tests.campaigns.krond_clock

krond-shadow:  ## run krond --shadow next to Debian's cron for 10 minutes; the report names exactly what cron lost; needs root
	$(RUN) -m tests.campaigns.krond_shadow

krond-import:  ## compare the next 1,000 firings of 200 imported crontab lines with those of Debian's own cron
	$(RUN) -m tests.campaigns.krond_import

SEEDS ?= 1350

simulate:  ## simulate 10,000 cluster hours with 100,000 crashes and pauses, on every core; then audit every period
	$(RUN) -m tests.simulation run $(SEEDS)

mutation-tests:  ## plant bugs, and count the seeds that find each
	$(RUN) -m tests.simulation mutants

year:  ## simulate a year of 10,000 daily schedules, and print the digest of the ledger
	$(RUN) -m tests.simulation year

trace-tests:  ## check 200,000 random life cycles of the embedded scheduler against its specification
	$(RUN) -m tests.embedded.traces

embedded-kills:  ## kill -9 an application 100 times during callbacks; every orphan restarts once
	$(RUN) -m tests.embedded.kills 100 sqlite
	$(RUN) -m tests.embedded.kills 100 postgres

transaction-kills:  ## kill -9 an application 1,000 times between writes and commits; rows and runs match one to one
	$(RUN) -m tests.embedded.transaction_kills 1000

MINUTES ?= 10

embedded-together:  ## run four applications on one PostgreSQL for MINUTES with random kills; each period runs once
	$(RUN) -m tests.embedded.together $$(($(MINUTES) * 60))

embedded-sharing:  ## run two applications with different jobs on one database for MINUTES; every period runs
	KRON_TEST_SHARING_SECONDS=$$(($(MINUTES) * 60)) $(RUN) -m pytest tests/embedded/test_sharing.py -k different_jobs

dashboard-looks:  ## check every page of the dashboard in Chromium at three widths, light and dark, with axe-core
	$(RUN) -m pytest -m "campaign or not campaign" tests/dashboard/test_browser.py tests/dashboard/test_looks.py

schemathesis:  ## send 10,000 valid and invalid requests to the HTTP API; only documented responses, and no failures
	$(RUN) -m tests.campaigns.contract

bench-krond:  ## measure krond next to Debian's cron on the same tables: idle, load, bursts; fails if a target is missed
	$(RUN) -m benchmarks.krond

.PHONY: bench-kube
bench-kube:  ## compare the operator with the CronJob controller at 5,000 due in one second; KRON_KUBE_JOBS=200 is short
	$(RUN) -m benchmarks.kube

deb:  ## build the Debian package of krond into dist/, without network
	$(RUN) -m deploy.debian.build

deb-install:  ## install the Debian package in a new Debian system, run a command, remove and purge it
	$(RUN) -m tests.campaigns.deb_install

celery-kills:  ## kill -9 two Celery beats 20 times, on RabbitMQ and on Redis; each period arrives, under one task id
	$(RUN) -m tests.integrations.celery_kills

service-kills:  ## kill -9 the service and workers for 5 minutes under load; then audit every period
	$(RUN) -m tests.campaigns.service_kills

web-kills:  ## kill -9 FastAPI and Flask processes on one PostgreSQL for MINUTES; each period of 200 jobs runs once
	$(RUN) -m tests.integrations.web_kills $(MINUTES)

burst:  ## launch 100,000 webhooks due in one second with two workers; each arrives once; show the lateness
	$(RUN) -m tests.campaigns.burst

burst-hanging:  ## launch 10,000 due in one second with 5 % hanging targets; the others are at most 10 % later at p99
	$(RUN) -m tests.campaigns.burst --hanging

burst-failing:  ## launch 1,000 due in one second next to 100 targets that hang, fail or refuse; at most 10 % later at p99
	$(RUN) -m tests.campaigns.burst --failing

one-off:  ## create 1,000,000 one-off jobs with payloads, due within an hour; each runs once; show rates and lateness
	$(RUN) -m tests.campaigns.one_off

alerts:  ## run an API and two workers under Prometheus; every alert of deploy/alerts.yaml fires for its cause
	promtool check rules deploy/alerts.yaml
	$(RUN) -m tests.campaigns.alerts

alerts-quiet: MINUTES = 60
alerts-quiet:  ## run ordinary load for MINUTES (60); no alert fires
	$(RUN) -m tests.campaigns.alerts --quiet $(MINUTES)

.PHONY: claims
claims:  ## break each requirement in turn; the tests that claim it must fail
	$(RUN) -m tests.claims $(if $(SLOW),--slow) $(IDS)

.PHONY: kube kube-tests kube-faults kube-e2e kube-switch kube-fuzz
kube:  ## build Kubernetes KRON_KUBE (1.31) and etcd from Go modules into KRON_KUBE_DIR; about 30 CPU minutes, once
	$(RUN) -m tests.kube.cluster.build $(if $(NODE),--node)

kube-tests:  ## run the tests on a real Kubernetes control plane; needs `make kube`
	$(RUN) -m pytest -m "campaign or not campaign" tests/kube -k "cluster or e2e" -rs

kube-faults:  ## break a real Kubernetes cluster and its operators in 29 ways; each Job once, each period accounted for; needs `make kube`
	$(RUN) -m tests.campaigns.kube_faults

kube-e2e:  ## run the operator on a real cluster with a node, and 22 KronJobs, most with real pods; needs `make kube NODE=1` and root
	$(RUN) -m tests.kube.e2e $(if $(IF_BUILT),--if-built)

kube-switch:  ## switch CronJobs to KronJobs and back on a real control plane, with kills; no period lost or doubled; 15 minutes
	$(RUN) -m tests.campaigns.kube_switch

kube-fuzz:  ## compare a real API server and the operator on 10,000 random KronJobs; they agree on every one
	$(RUN) -m tests.campaigns.kube_fuzz
