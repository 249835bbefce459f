# Every target sets up what it needs; nothing has to be installed before.
PY := .venv/bin/python
# Tests wait for programs, for servers and for what must not come: more of them than there are cores.
JOBS := 6
# How long `make fuzz` takes, and how many of its processes work side by side.
SECONDS ?= 3600
WORKERS ?= 1
# What `make bench-erring` is to do: rates, arms, tasks, seeds or steps. `tests/bench/bench_erring.py --help` names them.
ERRING ?=
# Which suite `make benchmark` runs, if not all of the usual ones: field. FIELD names its options, such as --table.
SUITE ?=
FIELD ?=
# What `make fleet` is to do: sizes, kills. `tests/bench/bench_fleet.py --help` names them.
FLEET ?= --kills 6

# Which modules take longest is known (tests/support/durations.json): they come first, so that all workers end together.
# What programs that tests start read on their screens is known, too (tests/support/started/readings.zip).
# The cache is cleared, so that it names what failed this time (tests/support/second_go.py).
TESTS := -m pytest -n $(JOBS) --dist loadscope --durations=50 --cache-clear
# What most edits are about, and what needs no server, no screen and no browser.
FAST := tests/core tests/models tests/machine tests/test_arrows.py tests/contract/test_contract.py \
  tests/contract/test_conformance_rules.py tests/contract/test_conformance_faults.py tests/docs/test_types.py
# What meets Prefect, for runs with another version of it.
MEETS_PREFECT := tests/agent/test_final_states.py tests/agent/test_flow.py tests/agent/test_front_door.py tests/agent/test_hooks.py \
  tests/agent/test_layers.py tests/agent/test_limits.py tests/agent/test_subgoals.py tests/agent/playbooks tests/agent/lists \
  tests/blocks tests/handoff tests/kill tests/prefect_server tests/run tests/cli/test_cli.py tests/flows/test_suspending.py \
  tests/flows/test_hand_off_in_pages.py tests/flows/test_prefect_yaml.py
PYTHONS ?= 3.11 3.12 3.13
# What is compiled once, tests among it, need not be compiled at every start of every process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test test-fast test-oldest test-pythons test-long durations check style bench bench-look bench-models bench-replay bench-waiting bench-erring benchmark fleet interop faults fuzz nasty docs lock image clean

help:
	@echo "make demo   audit a mailbox of receipts through a legacy desktop program"
	@echo "make test   run all checks and tests; about 15 minutes on two cores"
	@echo "make test-fast  types, style, and the tests of what needs no server and no screen; about a minute"
	@echo "make test-oldest  the tests that meet Prefect, with the oldest version of it that is supported"
	@echo "make test-pythons  the tests of test-fast with Python 3.11, 3.12 and 3.13 (PYTHONS=)"
	@echo "make test-long  the same, with all of many like cases"
	@echo "make bench  measure overhead, readiness, start-up, needless refusals, then all of bench-models"
	@echo "make bench-models  measure pictures, prompt prefixes, the decision cache, many conversations at once"
	@echo "make bench-look  measure elements of 1,000, where clicks land at twelve combinations of scale and monitors, states,"
	@echo "                 and steps and calls of twenty tasks with and without inventory and tree (about 7 minutes)"
	@echo "make bench-replay  replay compiled playbooks in three toolkits under 33 drifts (about 20 minutes)"
	@echo "make bench-waiting  send forms to slow servers in six programs, then click beside background talk (about two hours)"
	@echo "make bench-erring  a model that errs at 0 to 10 % of its steps, by a naive loop and by this library; resumes (hours;"
	@echo "                 ERRING=, for example --steps 10000 --rates 3, or --table)"
	@echo "make benchmark  do suites of tasks with judges of their own, at three scales; resumes (about 10 minutes)"
	@echo "make benchmark SUITE=field  compile and replay programs that others wrote; resumes (an hour; FIELD=, for example --table)"
	@echo "make fleet  lists of 1,000 items on 1, 10 and 20 desktops of three machines, with kills; resumes (two hours; FLEET=)"
	@echo "make interop  try a server of another make: builds llama.cpp's (about 7 minutes)"
	@echo "make faults   shared budgets at length, 100 kills and deadlines, then the expense audit killed at every durable"
	@echo "              write and 300 random moments (about two hours)"
	@echo "make fuzz     give all that reads from outside what nobody should send (an hour; SECONDS=, WORKERS=)"
	@echo "make nasty    nine nasty programs, 20 times each with and without what keeps a model from harm (four hours)"
	@echo "make docs   build the documentation into site/"
	@echo "make image  build the container image without an engine, as root, and try it (about 6 minutes)"
	@echo "make check  types, lint, plain English, arrows"
	@echo "make durations  run the tests and write down how long each module takes, which decides their order, and what is read"
	@echo "make setup  only install what the others need"

setup:
	@deployments/setup.sh test

demo:
	@deployments/setup.sh demo
	@$(PY) flows/demo.py

test: style
	@$(call with_second_go,$(PY) $(TESTS))

test-fast: style
	@$(call with_second_go,$(PY) $(TESTS) -m "not (long or slow or desktop)" $(FAST))

# The lock with the oldest Prefect that pyproject.toml allows.
test-oldest: setup
	@$(call made_venv,.venv-oldest,$(CURDIR)/.venv/bin/python)
	@$(PY) -m uv pip install --quiet --python .venv-oldest/bin/python --no-deps --require-hashes -r deployments/oldest.lock
	@.venv-oldest/bin/python -m pytest -n 2 --dist loadscope $(MEETS_PREFECT)

# uv takes the interpreters that are installed, and fetches others where it can.
test-pythons: setup
	@for version in $(PYTHONS); do \
	  echo "Python $$version"; \
	  { $(call made_venv,.venv-$$version,$$version); } || exit 1; \
	  .venv-$$version/bin/python -m pytest -n 2 --dist loadscope -m "not (long or slow or desktop)" $(FAST) || exit 1; \
	done

# Make a virtual environment of the lock and of this project: its folder, its Python.
define made_venv
$(PY) -m uv venv --quiet --clear --python $(2) $(1) && \
  $(PY) -m uv pip install --quiet --compile-bytecode --python $(1)/bin/python --no-deps --require-hashes -r requirements.lock && \
  $(PY) -m uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation -e .
endef

test-long: style
	@$(call with_second_go,$(PY) $(TESTS) -m "long or not long")

durations: setup
	@$(PY) $(TESTS) --keep-durations

# Up to three tests that fail beside all the others run once more alone, and are named if they pass then.
define with_second_go
$(1); tests=$$?; if [ $$tests = 1 ]; then $(PY) -m tests.support.second_go; tests=$$?; fi; [ $$tests = 0 ]
endef

check: style
	@$(PY) -m mypy

style: setup
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m pytest tests/docs/test_plain_english.py

bench: setup
	@$(PY) tests/bench/bench.py
	@$(PY) tests/bench/bench_start.py
	@$(PY) tests/bench/bench_mcp.py
	@$(PY) tests/bench/bench_memory.py
	@$(PY) tests/bench/bench_trace.py
	@$(PY) tests/bench/bench_skipping.py
	@$(PY) tests/bench/bench_beside.py --allowed 5
	@$(MAKE) --no-print-directory bench-models

bench-look: setup
	@$(PY) tests/bench/bench_elements.py
	@$(PY) tests/bench/bench_calibration.py
	@$(PY) tests/bench/bench_states.py
	@$(PY) tests/bench/bench_discovery.py

bench-models: setup
	@$(PY) tests/bench/bench_images.py
	@$(PY) tests/bench/bench_prefix.py
	@$(PY) tests/bench/bench_cache.py
	@$(PY) tests/bench/bench_concurrency.py

bench-replay: setup
	@$(PY) tests/bench/bench_replay.py
	@$(PY) tests/bench/bench_cpu.py

bench-waiting: setup
	@$(PY) tests/bench/bench_waiting.py

bench-erring:
	@deployments/setup.sh benchmark
	@$(PY) tests/bench/bench_erring.py $(ERRING)

benchmark:
ifeq ($(SUITE),field)
	@deployments/setup.sh field
	@$(PY) flows/benchmarks/field $(FIELD)
else
	@deployments/setup.sh benchmark
	@$(PY) flows/benchmarks --suite miniwob miniwob-clock office ledger nasty --scale 1 1.25 2 --desktops 2 --out benchmark-output
endif

fleet:
	@deployments/setup.sh fleet
	@$(PY) tests/bench/bench_fleet.py $(FLEET)

interop: setup
	@tests/interop/build_llama_server.sh .interop
	@$(PY) -m pytest tests/interop

faults: setup
	@HOLO_LONG_FAULTS=1 $(PY) -m pytest tests/faults/test_shared_budget.py
	@$(PY) -m pytest -s -m long tests/audit/test_wire.py tests/audit/test_outage.py
	@$(PY) tests/faults/latch_trials.py 100
	@$(PY) tests/faults/faults.py

fuzz: setup
	@$(PY) -m tests.fuzz.fuzz --seconds $(SECONDS) --workers $(WORKERS)

nasty: setup
	@$(PY) tests/nasty/runs.py

# Nothing is loaded from elsewhere as the pages are built or read. A link that leads nowhere fails.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "site/index.html is there; searching takes a server: python3 -m http.server --directory site"

lock:
	uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --python-version 3.11 \
	  --extra all --extra demo --group dev --group docs pyproject.toml --custom-compile-command "make lock" -o requirements.lock
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --python-version 3.11 --constraint requirements.lock \
	  --extra s3 --extra office --extra rehearsal --extra redaction --extra postgres --extra mcp --extra redis --extra docker --extra otel --extra keyring \
	  pyproject.toml --custom-compile-command "make lock" -o deployments/image.lock
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --python-version 3.11 --constraint requirements.lock \
	  --group image --custom-compile-command "make lock" -o deployments/image-build.lock
	sed -n 's/^  "prefect>=\([0-9.]*\),.*/prefect==\1/p' pyproject.toml | uv pip compile --quiet --no-deps --generate-hashes \
	  --no-emit-index-url --no-annotate --python-version 3.11 --custom-compile-command "make lock" - -o deployments/oldest.lock

# The container image, built by Debian's buildah and tried in two ways; an engine is not needed (docs/how-to/container.md).
image:
	@deployments/image.sh

clean:
	rm -rf .venv .venv-* site .mypy_cache .ruff_cache .pytest_cache demo-output bench-output benchmark-output faults-output nasty-output tests/fuzz/crashes-output .interop
