# The whole interface of this repository. Every target sets up what it needs on a machine
# that has only python3 (3.11 or newer), pip and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := .bootstrap/bin/uv
READY := $(VENV)/.ready

# Trust what the system trusts: a company's own authority, for one.
export UV_SYSTEM_CERTS := 1
export UV_NATIVE_TLS := 1
# What pip warns root of does not concern a directory of its own.
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help setup demo test test-ceph sim replay check format bench bench-hostpath conformance peers suites kills kills-every-step docs protos clean lock

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: $(READY) ## make .venv with everything in it

# pip --target needs neither the venv module nor write access to the system.
$(UV):
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .bootstrap uv

# Compiled once here: where Python may not write what it compiles, each process would do it anew.
$(READY): pyproject.toml constraints.txt | $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 src $(VENV)/lib >/dev/null || true
	@touch $@

demo: $(READY) ## start the embedded cluster and show it (ONCE=1: end by itself)
	@$(BIN)/plimsoll demo $(if $(ONCE),--once)

# Not part of setup: using Plimsoll needs none of it.
SYSTEM := $(VENV)/.system
$(SYSTEM): tools/system_packages.sh | $(READY)
	@sh $<
	@touch $@

# More workers than the two cores of a small machine: most tests wait for processes. Files keep
# their order, so that those which take long (tests/conftest.py) do not come last.
test: $(READY) $(SYSTEM) ## all tests that need nothing but this machine
	@$(BIN)/python -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder -m 'not planted' --ignore tests/ceph tests
	@$(BIN)/python -m tests.oracle

# Two workers, each with a cluster of its own, which takes five seconds to start: most tests wait.
test-ceph: $(READY) $(SYSTEM) ## the tests on a real Ceph cluster, which it installs (CEPH=options of pytest)
	@sh tools/ceph_packages.sh $(BIN)/python
	@$(BIN)/python -m tests.ceph -n 2 --dist loadfile $(CEPH)

# The range of seeds makes it resumable: FIRST=101 goes on where SEEDS=100 ended.
SEEDS ?= 20
FIRST ?= 1
sim: $(READY) ## simulate SEEDS=20 clusters from seed FIRST=1 on, with faults (PLANTS=1: find planted bugs)
	@$(if $(PLANTS),$(BIN)/python -m pytest -q -n auto -m planted tests/simulator)
	@$(BIN)/python -m tools.sim run --seeds $(SEEDS) --first $(FIRST) $(SIM)

replay: $(READY) ## play one scenario again and tell what happens (SCENARIO=file or SEED=n)
	@$(BIN)/python -m tools.sim replay $(if $(SEED),--seed $(SEED)) $(SCENARIO)

check: $(READY) ## format, lint, types, imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy src tests conformance bench tools
	@$(BIN)/lint-imports --no-cache

format: $(READY) ## lay out the code, and wrap Markdown at 100 columns
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/python -m tools.wrap

bench: $(READY) ## measure the embedded API server
	@$(BIN)/python -m bench

# More options, such as --only A --settings default, are given as HOSTPATH.
bench-hostpath: $(READY) ## fill storage to the last byte, by three ways to schedule (SCALE=0.1: fewer pods; PLOT=file)
	@$(BIN)/python -m bench.hostpath $(if $(SCALE),--scale $(SCALE)) --plot $(or $(PLOT),bench-hostpath.svg) $(HOSTPATH)

conformance: $(READY) $(SYSTEM) ## run beside the real programs (needs Go, once)
	@$(BIN)/python -m conformance

peers: $(READY) ## build the real programs and suites that conformance runs (needs Go)
	@$(BIN)/python -m conformance --build

# More options, such as --suite filters --run TestTaint, are given as SUITES.
suites: $(READY) ## run Kubernetes' own tests on our server and with our scheduler (an hour; needs Go; SUITES=options)
	@$(BIN)/python -m conformance.suites $(SUITES)

kills: $(READY) $(SYSTEM) ## kill a cluster's processes at random under load (MINUTES=10, SEED=n; needs root)
	@$(BIN)/python -m conformance.kills --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

# More options, such as --path "is undone" --victim scheduler --seconds 100, are given as STEPS.
kills-every-step: $(READY) ## kill each process at each step of groups and rollbacks (an hour; STEPS=options)
	@$(BIN)/python -m conformance.every_step $(STEPS)

docs: $(READY) ## regenerate docs/reference from the code
	@$(BIN)/python -m tools.reference

protos: $(READY) ## regenerate the CSI messages from their .proto files
	@$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src src/plimsoll/wire/csi/gen/*.proto

lock: $(UV) ## refresh constraints.txt
	@$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --no-annotate --no-header --no-emit-index-url pyproject.toml -o constraints.txt

clean: ## remove what the targets above made
	@rm -rf $(VENV) .bootstrap .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
