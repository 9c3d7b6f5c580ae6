# `make demo` and `make test` do all set-up themselves; each step runs again only when what it reads has changed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
# Each of pytest's processes has Spark and its servers, 5 GB; while one waits for a server another computes.
TESTERS ?= $(if $(shell awk '/MemAvailable/ && $$2 > 18000000' /proc/meminfo 2>/dev/null),3,2)
HOURS ?= 2
TOOLS := .tools
VENV := .venv
BIN := $(VENV)/bin
UV := $(TOOLS)/bin/uv
EMR := .venv-emr
RESOLVE := pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet
OURS := $(RESOLVE) pyproject.toml --group build
PYTEST = $(BIN)/pytest --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --durations 20 --durations-min 10
FAST := tests/unit tests/spark tests/integration
# Sets of locked packages, installed into one environment: what running needs, each extra, and everything that tests need.
RUN := $(VENV)/.run
INSTALLED := $(VENV)/.installed
EXTRAS ?=
CLOUD := .venv-cloud/.installed
SUPPLY := .venv-supply/.installed
# Checkov is set up only where terraform is: the tests of terraform/ say that they are not run elsewhere.
CLOUD_HERE := $(if $(shell command -v terraform 2>/dev/null),$(CLOUD))

.PHONY: help setup demo demo-airflow test test-all fast slow long soak test-times test-emr cloud docs docs-rights docs-images cloud-docs check unit lint format lock sbom advisories down clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/' | expand -t 22

setup: $(RUN) $(EXTRAS:%=$(VENV)/.%) ## the Python packages, the jars and Trino that running needs; EXTRAS="airflow aws" adds packages
	@$(BIN)/lk setup

demo: setup ## real data through the whole system, in about five minutes
	@$(BIN)/lk demo

demo-airflow: $(VENV)/.airflow setup ## Airflow publishes on its schedule and runs a whole reprocess
	@$(BIN)/lk demo --airflow

test: $(INSTALLED) ## every check, and the fast test of every promise; docs/test-times.md says how long
	@$(MAKE) setup
	@$(MAKE) --jobs=2 check fast

fast:
	@$(PYTEST) -m "not slow" $(FAST)

test-all: test test-emr slow ## the same, then kills, Airflow, a cluster, an object store, terraform, EMR's Spark, all programs

# Two at once: each has several processes, and Airflow, brokers and browsers take it for a fault when a machine stalls.
slow long: TESTERS = 2

slow: $(INSTALLED) setup $(CLOUD_HERE)
	@$(PYTEST) -m "slow and not long" tests
	@$(BIN)/python -m tests.support.servers.terraform_availability

long: $(INSTALLED) setup ## more cases and sizes: a soak, an aged instance, extreme records, tutorials, millions of mutated records
	@$(PYTEST) -m long tests

test-times: $(INSTALLED) setup ## measure each fast test and write docs/test-times.md
	@rm -f .test-times.jsonl
	@$(PYTEST) -p tests.support.suite.cost --cost .test-times.jsonl -m "not slow" $(FAST)
	@$(BIN)/python -m tests.support.suite.cost_page .test-times.jsonl docs/test-times.md

cloud: $(INSTALLED) $(CLOUD_HERE) ## terraform/ alone: its style, its tests, checkov, and applied to an emulator
	@$(BIN)/pytest tests/scenarios/terraform tests/integration/test_terraform_plants.py
	@$(BIN)/python -m tests.support.servers.terraform_availability

docs: $(INSTALLED) ## write the references of verbs and settings, the rights in Trino, the report of the study in docs/report/
	@$(BIN)/python -m cli.reference
	@$(BIN)/python -m cli.security_page
	@$(BIN)/lk report --study docs/report/raw.parquet --out docs/report

docs-rights: $(INSTALLED) setup ## tests try each right in Kafka and in Trino and write the result into docs/security.md
	@LK_DOCS_RIGHTS=yes $(BIN)/pytest tests/integration/security/test_kafka_rights.py tests/integration/security/test_trino_rights.py

docs-images: $(INSTALLED) setup ## make the pictures of docs/images in a browser (Chromium), and the plots of the notebook
	@LK_DOCS_IMAGES=yes $(BIN)/pytest tests/scenarios/live_page/test_live_page.py \
	  tests/scenarios/tutorial/test_tutorials.py::test_analysts_and_the_notebook

cloud-docs: $(INSTALLED) $(CLOUD) ## write the tables of terraform's READMEs and the costs of docs/deploy/cloud.md
	@.venv-cloud/bin/python terraform/readme_tables.py
	@$(BIN)/python terraform/costs.py

test-emr: $(EMR)/.installed ## the contract of decoders and views on the Spark that EMR has, in an environment of its own
	@$(EMR)/bin/pytest --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 tests/spark

soak: setup ## events, batches, switches and readers for HOURS=2; refused if a number is wrong or something grows
	@$(BIN)/lk bench soak --hours $(HOURS)

unit: $(INSTALLED) ## the tests that need no server
	@$(BIN)/pytest tests/unit

check: $(INSTALLED)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

lint: check ## style, types and layers

format: $(INSTALLED) ## format the code
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

# Every set starts from the versions of the largest one, so a package has one version in all of them.
lock: $(INSTALLED) ## resolve the Python packages again, and the checksums of jars whose version changed
	@$(UV) $(OURS) --all-extras --upgrade --output-file requirements-dev.lock
	@for lock in requirements.lock requirements-airflow.lock requirements-aws.lock requirements-emr.lock images/jobs/requirements.lock; do \
	  cp requirements-dev.lock $$lock; done
	@$(UV) $(OURS) --output-file requirements.lock
	@$(UV) $(OURS) --extra airflow --output-file requirements-airflow.lock
	@$(UV) $(OURS) --extra aws --output-file requirements-aws.lock
	@$(UV) $(OURS) --extra dev --override requirements-emr.in --output-file requirements-emr.lock
	@$(UV) $(RESOLVE) pyproject.toml --extra aws --override images/jobs/requirements.in --output-file images/jobs/requirements.lock
	@printf 'uv\nsetuptools\nwheel\n' | $(UV) $(RESOLVE) - --upgrade --output-file requirements-tools.lock
	@printf 'checkov==3.3.30\n' | $(UV) $(RESOLVE) - --python-version 3.11 --upgrade --output-file requirements-cloud.lock
	@printf 'cyclonedx-bom==7.5.0\npip-audit==2.10.1\n' | $(UV) $(RESOLVE) - --python-version 3.11 --upgrade --output-file requirements-supply.lock
	@$(BIN)/python -m infra.runtime.relock

# Its own validation waits for the network.
sbom: $(RUN) $(SUPPLY) ## CycloneDX bill of the Python packages, the jars and Trino, with their licences: .sbom/sbom.json
	@mkdir -p .sbom
	@.venv-supply/bin/cyclonedx-py environment --no-validate --pyproject pyproject.toml --output-reproducible -o .sbom/python.json $(BIN)/python
	@$(BIN)/python -m infra.runtime.bill_of_materials .sbom/python.json .sbom/sbom.json

advisories: $(SUPPLY) ## known vulnerabilities of the locked Python packages; asks PyPI, so it needs a network
	@echo "PyPI's advisories as of $$(date -u '+%Y-%m-%d %H:%M UTC'): asked now, nothing is cached"
	@failed=0; for lock in requirements*.lock; do echo "$$lock:"; \
	  .venv-supply/bin/pip-audit --disable-pip --progress-spinner off --requirement "$$lock" || failed=1; done; exit $$failed

down: ## stop the servers of the default instance
	@if [ -x $(BIN)/lk ]; then $(BIN)/lk down; else echo "nothing was set up"; fi

clean: down ## remove the environment and the tools; data folders and downloads stay
	@rm -rf $(VENV) $(EMR) .venv-cloud .venv-supply $(TOOLS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

# Of what uv prints, errors and the lines Prepared and Installed pass: its lists of packages would hide them. On a
# terminal the last downloaded package is shown.
# Pyspark comes as source: what builds it is pinned in requirements-tools.lock too.
# The project itself is installed as a link to this folder; hatchling is among the locked packages, so no network.
export UV_LINES := \
  / Downloaded / { if (terminal) printf "\033[K  downloaded %s\r", $$2; next } \
  !/^ *([-+~]|Resolved|Bytecode|Audited|Uninstalled|Using|Building|Built|Downloading) / { if (terminal) printf "\033[K"; print } \
  { fflush() }

define INSTALL
@[ -x $(BIN)/python ] || $(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
@echo "Installing $$(grep -c '==' $(lastword $(2))) Python packages (1 to 2 GB on disk)" >&2
@VIRTUAL_ENV=$(VENV) $(UV) pip $(1) --compile-bytecode --require-hashes --build-constraints requirements-tools.lock $(2) \
  2>&1 | awk -v terminal="$$([ -t 2 ] && echo yes)" "$$UV_LINES" >&2
@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --offline --no-deps --no-build-isolation --editable .
endef

# Adds to the environment; only the whole set, below, also removes what is not in it.
$(RUN): requirements.lock pyproject.toml | $(UV)
	$(call INSTALL,install,-r requirements.lock)
	@touch $@

$(VENV)/.airflow $(VENV)/.aws: $(VENV)/.%: requirements-%.lock pyproject.toml | $(UV)
	$(call INSTALL,install,-r requirements-$*.lock)
	@touch $(RUN) $@

$(INSTALLED): requirements-dev.lock pyproject.toml | $(UV)
	$(call INSTALL,sync,requirements-dev.lock)
	@touch $(RUN) $(VENV)/.airflow $(VENV)/.aws $@

# Checkov needs other versions of what we use ourselves, so it has an environment of its own.
$(CLOUD): requirements-cloud.lock | $(UV)
	@[ -x .venv-cloud/bin/python ] || $(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv-cloud
	@VIRTUAL_ENV=.venv-cloud $(UV) pip sync --quiet --require-hashes --build-constraints requirements-tools.lock requirements-cloud.lock
	@touch $@

$(SUPPLY): requirements-supply.lock | $(UV)
	@[ -x .venv-supply/bin/python ] || $(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv-supply
	@VIRTUAL_ENV=.venv-supply $(UV) pip sync --quiet --require-hashes --build-constraints requirements-tools.lock requirements-supply.lock
	@touch $@

$(EMR)/.installed: requirements-emr.lock pyproject.toml | $(UV)
	@[ -x $(EMR)/bin/python ] || $(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(EMR)
	@VIRTUAL_ENV=$(EMR) $(UV) pip sync --compile-bytecode --require-hashes --build-constraints requirements-tools.lock requirements-emr.lock
	@VIRTUAL_ENV=$(EMR) $(UV) pip install --quiet --offline --no-deps --no-build-isolation --editable .
	@touch $@

$(UV): requirements-tools.lock
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11 or newer, or name one: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); 3.11, 3.12 or 3.13 is needed, name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module: install it (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "Installing uv (25 MB)" >&2
	@$(PYTHON) -m venv --clear $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-tools.lock
	@touch $@
