# `make help` lists the targets. Everything is installed into .venv; nothing outside the repository is touched.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
NPM := npm install --no-audit --no-fund --no-package-lock --loglevel=error

.DEFAULT_GOAL := help
.PHONY: help demo test unit check format lint types docs lock agents agents-all schema matrix bench clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

demo: $(READY) ## Show a goal at work: a scripted agent, a client, the snapshots and the metrics.
	@$(BIN)/python tests/demo/demo.py

test: $(READY) agents schema ## Run all tests, with the newest and one old build of the real agents.
	$(BIN)/python -m pytest

unit: $(READY) schema ## Run the tests that need no real agent.
	$(BIN)/python -m pytest --ignore=tests/e2e

check: $(READY) agents schema lint types ## Format, lint and types checked, all tests run with coverage.
	$(BIN)/python -m pytest --cov --cov-report=term

format: $(READY) ## Format the code.
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: $(READY)
	$(BIN)/mypy

docs: $(READY) ## Write docs/metrics.md, docs/transitions.md and the dashboard anew from the code.
	$(BIN)/python -c 'from goalproxy.metrics.page import render; print(render(), end="")' > docs/metrics.md
	$(BIN)/python -c 'from goalproxy.proxy.goal.owned import transitions_page; print(transitions_page(), end="")' \
		> docs/transitions.md
	$(BIN)/python docs/fleet/dashboard.py > docs/fleet/dashboard.json

lock: ## Write requirements.lock anew from pyproject.toml.
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --upgrade \
		--custom-compile-command "make lock" --group dev pyproject.toml --output-file requirements.lock

agents: $(READY) ## Install the real agents that the tests use (about 3 GB, into .agents).
	$(BIN)/python -m tests.e2e.install default

agents-all: $(READY) ## Install every build of the real agents (about 5 GB, into .agents).
	$(BIN)/python -m tests.e2e.install all

schema: tests/schema/node_modules ## Install the public JSON schemas of ACP that the tests use.

tests/schema/node_modules: tests/schema/package.json
	$(NPM) --prefix tests/schema
	@touch $@

matrix: $(READY) agents-all ## Run every behaviour with every build, and write the table into the README (half an hour).
	GOALPROXY_MATRIX=1 GOALPROXY_MATRIX_FILE=README.md $(BIN)/python -m pytest tests/e2e

bench: $(READY) ## Measure goalproxy beside its peers.
	$(NPM) --prefix tests/bench
	$(BIN)/pip install --quiet --no-deps agent-client-protocol==0.12.1
	$(BIN)/python tests/bench/bench.py
	$(BIN)/python tests/bench/scrape.py

clean: ## Remove everything that was installed or built.
	rm -rf .venv .agents build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
	find . -name __pycache__ -o -name node_modules -prune | xargs rm -rf

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
