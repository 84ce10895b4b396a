# Everything below needs Python 3.11+ (with venv) and make; the first target sets up .venv, once.
# Recipes are silent and set-up writes to stderr only: stdout belongs to the command that a target runs.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The newest Python that can really make an environment: version managers leave shims that do not run, and some
# distributions leave out ensurepip. Deferred, so that nothing is searched once .venv stands.
SUITABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for candidate in python3.14 python3.13 python3.12 python3.11 python3; do \
	"$$candidate" -c '$(SUITABLE)' 2>/dev/null && echo "$$candidate" && break; done)

BIN := .venv/bin
RUNS := .venv/.runs
READY := .venv/.installed
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
PEERS_READY := .venv-bench/.installed
TRIAL_READY := .venv-trial/.installed
WHEELS_READY := .venv-wheels/.installed
# The longest files first, so that no process is left with one at the end.
SUITES := $(wildcard tests/features tests/integration tests/unit)
BY_FILE := --dist loadfile --no-loadscope-reorder
# Importing all other test modules as well would take longer than some of these tests.
ALONE = $(shell grep -rl --include='test_*.py' 'mark\.alone' $(SUITES) | sort)
# What the compiled modules can break: everything between a client and an endpoint.
DATA_PLANE := tests/unit/balancer tests/integration/balancer $(addprefix tests/features/test_,http_cases.py http2_cases.py http2_clients.py \
	http2_crossed.py http2_limits.py http2_streams.py faults_back_pressure.py faults_clients.py faults_endpoints.py \
	faults_pools.py grpc_calls.py hooks.py hooks_hostile.py http2_gates.py) $(addprefix tests/integration/test_,affinity.py bad_input.py bodies.py canary.py \
	client_certificates.py client_limits.py conformance.py error_trail.py event_loops.py external_auth.py health.py \
	limits.py metrics.py mirrors.py process.py proxy_protocol.py redirects.py relocation.py response_edits.py \
	response_fields.py response_options.py rewriting.py routing_cases.py sign_in.py stopping.py tls.py \
	tls_endpoints.py tracing.py trusted_proxies.py upgrades.py workers.py)
ON_DATA_PLANE = -p no:cacheprovider $(BY_FILE) -m 'not slow and not alone' $(DATA_PLANE) $(ARGS)
ON_TYPED = -m pytest $(ON_DATA_PLANE)
ARGS ?=
# Containers often ask for no bytecode. Then each of the hundreds of processes that tests start compiles all modules anew.
export PYTHONDONTWRITEBYTECODE :=

# Resolved on the oldest supported Python, where the set of dependencies is the largest.
LOCK_PYTHON ?= python3.11
LOCK_TOOL := pip-tools==7.6.2
COMPILE = CUSTOM_COMPILE_COMMAND='make lock' $$tool/bin/pip-compile --quiet --generate-hashes --strip-extras \
	--allow-unsafe --upgrade --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.PHONY: help demo docs test unit test-typed test-wheel typed wheels asan compare-typed check format lint types bench bench-control bench-features bench-relays bench-steps screenshots simulate fleet-figures fuzz faults soak chaos gateway-churn shop-backends lock

help:
	@echo 'make demo           run the three-zone demo (ARGS="--requests 2000 --json" for one JSON summary, ARGS=--stay to serve without a terminal)'
	@echo 'make test           lint, types and every test'
	@echo 'make unit           the tests of tests/unit, with few examples of each property'
	@echo 'make check          format, then test'
	@echo 'make format         format the sources'
	@echo 'make lint           ruff'
	@echo 'make types          mypy'
	@echo 'make docs           write the pages and other files that are made from the sources'
	@echo 'make typed          compile the typed modules into a tree below build/typed, and print where it is (needs a C compiler)'
	@echo 'make wheels         the wheels of this version into dist/, compiled and pure (needs a C compiler; ARGS=--here for this platform alone)'
	@echo 'make test-typed     the tests of the data plane, on that tree'
	@echo 'make test-wheel     the same on the installed wheel, where the sources are not'
	@echo 'make asan           the same under AddressSanitizer'
	@echo 'make compare-typed  1,000 scripted exchanges on the plain source and on two compiled builds must be equal'
	@echo 'make fuzz           a million messages, sequences of frames and header blocks against the parsers (ARGS="--seed 2")'
	@echo 'make faults         the fault matrix, with its slow tests (ARGS="--junit-xml=faults.xml" for the figures)'
	@echo 'make soak           mixed traffic, changes and killed workers for ten minutes (ARGS="--minutes 60 --output soak.md")'
	@echo 'make gateway-churn  listeners and routes come and go under load, workers and a leader are killed (ARGS="--seconds 600")'
	@echo 'make chaos          hostile clients, endpoints and tenants under AddressSanitizer (ARGS="--minutes 30 --output docs/chaos.md")'
	@echo 'make bench          zonal beside its peers, into docs/performance.md (ARGS="--quick" for a look, "--help" for more)'
	@echo 'make bench-control  the control plane in a large cluster, into docs/performance-control.md (ARGS="--quick" for a look)'
	@echo 'make bench-features what each feature of a route adds, into docs/performance-features.md (ARGS="--quick" for a look)'
	@echo 'make bench-relays   the CPU of streams beside requests and splice, into docs/performance-relays.md (ARGS="--quick" for a look)'
	@echo 'make bench-steps    time the steps of the hot path'
	@echo 'make screenshots    pictures of every page of /ui, into bench-results/screenshots (needs Chromium; ARGS="FOLDER" for another place)'
	@echo 'make simulate       replay the zone policies under load, and write docs/zones-simulation.md'
	@echo 'make fleet-figures  simulate and measure what replicas that act as one are worth and cost, and write docs/fleet-figures.md'
	@echo 'make shop-backends  start the backends of deploy/examples/shop'
	@echo 'make lock           resolve requirements/*.txt anew'

demo: $(RUNS)
	@$(BIN)/zonal demo $(ARGS)

# One file's tests stay in one process: they may share what is slow to start. Three processes fill two cores, because many
# tests wait. What measures times or memory comes last, with one other such test beside it at most.
test: lint types
	@$(BIN)/python -m tests.processes 3 $(SUITES) -- -m 'not slow and not alone' $(ARGS)
	@$(BIN)/python -m tests.processes 2 $(ALONE) -- -m 'alone and not slow' $(ARGS)

# A checkout runs the plain source, so that `make demo` and `make test` need no compiler. Installations are compiled.
typed: $(READY)
	@$(BIN)/python -m typed $(ARGS)

wheels: $(WHEELS_READY)
	@.venv-wheels/bin/python -m typed.wheels $(ARGS)

# Without what is large: that takes as long as all the others together. What is left does not wait, so two processes fill two
# cores, and a third one would only import all sources once more.
unit: $(READY)
	@$(BIN)/python -m tests.processes 2 tests/unit -- --hypothesis-profile=unit -m 'not slow and not alone and not large' $(ARGS)

test-typed: $(READY)
	@$(BIN)/python -m typed --run $(ON_TYPED) --numprocesses 3

# In an environment of its own: the development environment has the checkout.
test-wheel: $(READY) $(TRIAL_READY)
	@$(BIN)/python -m typed.trial .venv-trial/bin/python $(ON_DATA_PLANE) --numprocesses 3

asan: $(READY)
	@$(BIN)/python -m typed --flavour asan --run $(ON_TYPED) --numprocesses 2

compare-typed: $(READY)
	@$(BIN)/python -m tests.features.typed.comparing $(ARGS)

check: format
	@$(MAKE) test

format: $(READY)
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo 'lint: not formatted as above; run make format' >&2; exit 1; }

types: $(READY)
	@$(BIN)/python -m mypy --num-workers 2 || { test $$? -eq 2 && $(BIN)/python -m mypy; }
	@$(BIN)/python -m mypy deploy/examples/shop

docs: $(READY)
	@$(BIN)/python -m tools

fuzz: $(READY)
	@$(BIN)/python -m tests.features.fuzz.heads --inputs 1000000 $(ARGS)
	@$(BIN)/python -m tests.features.fuzz.lines --inputs 1000000 $(ARGS)
	@$(BIN)/python -m tests.features.fuzz.engines --inputs 1000000 $(ARGS)
	@$(BIN)/python -m tests.features.fuzz.blocks --inputs 1000000 $(ARGS)

# One at a time: the figures are of one process, its endpoints and its clients on this machine.
faults: $(READY)
	@$(BIN)/python -m pytest -m faults --times tests $(ARGS)

gateway-churn: $(READY)
	@$(BIN)/python -m tests.bench.gateway_churn $(ARGS)

chaos: $(READY)
	@$(BIN)/python -m tests.bench.chaos $(ARGS)

soak: $(READY)
	@$(BIN)/python -m tests.bench.soak $(ARGS)

# One at a time with nothing else running: everything is measured on this machine.
bench: $(READY) $(PEERS_READY)
	@$(BIN)/python -m tests.bench.peers $(ARGS)

bench-control: $(READY)
	@$(BIN)/python -m tests.bench.control $(ARGS)

bench-features: $(READY)
	@$(BIN)/python -m tests.bench.peers.features $(ARGS)

bench-relays: $(READY)
	@$(BIN)/python -m tests.bench.relays $(ARGS)

bench-steps: $(READY)
	@$(BIN)/python -m tests.bench.hot_path $(ARGS)

screenshots: $(READY)
	@$(BIN)/python -m tests.bench.screenshots $(or $(ARGS),bench-results/screenshots)

simulate: $(READY)
	@$(BIN)/python -m tests.bench.zones

fleet-figures: $(READY)
	@$(BIN)/python -m typed --run -m tests.bench.fleet $(CURDIR)/docs

shop-backends: $(RUNS)
	@$(BIN)/python deploy/examples/shop/backends.py

# What zonal needs to run, and no tools: the first result of `make demo` must not wait for those. Nor for the bytecode of
# modules that it does not use: each is compiled by its first import.
$(RUNS): requirements/run.txt requirements/build.txt pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		test -n "$(PYTHON)" || { echo 'make: no Python 3.11 or newer with venv found; install one or set PYTHON=…' >&2; exit 1; }; \
		"$(PYTHON)" -c '$(SUITABLE)' || { echo 'make: $(PYTHON) is not Python 3.11 or newer with venv' >&2; exit 1; }; \
		echo 'make: setting up .venv with $(PYTHON) (once)' >&2; \
		"$(PYTHON)" -m venv --clear .venv >&2; }
	@echo 'make: installing what zonal needs to run' >&2
	@$(INSTALL) --no-compile --require-hashes -r requirements/run.txt -r requirements/build.txt >&2
	@$(INSTALL) --no-deps --no-build-isolation -e . >&2
	@touch $@

$(READY): requirements/dev.txt $(RUNS)
	@echo 'make: installing the development tools' >&2
	@$(INSTALL) --require-hashes -r requirements/dev.txt >&2
	@touch $@

# Programs, not libraries, so they stay out of .venv. A machine that cannot have them runs the bench without them.
$(PEERS_READY): requirements/bench.txt | $(READY)
	@echo 'make: installing the peers of the bench' >&2
	@$(BIN)/python -m venv --clear .venv-bench >&2
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes \
		-r requirements/bench.txt >&2 && touch $@ || echo 'make: not all peers could be installed' >&2

$(TRIAL_READY): requirements/dev.txt | $(READY)
	@echo 'make: installing what the tests of the wheel need' >&2
	@$(BIN)/python -m venv --clear .venv-trial >&2
	@.venv-trial/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes \
		-r requirements/dev.txt >&2
	@touch $@

$(WHEELS_READY): requirements/wheels.txt requirements/build.txt requirements/typed.txt | $(RUNS)
	@echo 'make: installing what makes wheels' >&2
	@$(BIN)/python -m venv --clear .venv-wheels >&2
	@.venv-wheels/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes \
		-r requirements/build.txt -r requirements/typed.txt -r requirements/wheels.txt >&2
	@touch $@

lock:
	@tool=$$(mktemp -d) && trap 'rm -rf "$$tool"' EXIT && \
		"$(LOCK_PYTHON)" -m venv "$$tool" >&2 && \
		"$$tool/bin/python" -m pip install --quiet --disable-pip-version-check '$(LOCK_TOOL)' >&2 && \
		"$$tool/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' | \
			$(COMPILE) --output-file requirements/build.txt - && \
		"$$tool/bin/python" -c 'import tomllib; print(*(each for each in tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"] if each.startswith("cython")), sep="\n")' | \
			$(COMPILE) --output-file requirements/typed.txt - && \
		"$$tool/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["wheels"], sep="\n")' | \
			$(COMPILE) --constraint requirements/build.txt --output-file requirements/wheels.txt - && \
		"$$tool/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["sbom"], sep="\n")' | \
			$(COMPILE) --constraint requirements/build.txt --output-file requirements/sbom.txt - && \
		$(COMPILE) --output-file requirements/run.txt pyproject.toml && \
		$(COMPILE) --extra otel --extra valkey --constraint requirements/run.txt --output-file requirements/otel.txt pyproject.toml && \
		"$$tool/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' | \
			$(COMPILE) --extra otel --extra valkey --extra top --constraint requirements/otel.txt --output-file requirements/dev.txt pyproject.toml - && \
		"$$tool/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["bench"], sep="\n")' | \
			$(COMPILE) --output-file requirements/bench.txt -
