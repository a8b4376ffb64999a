# All targets use the virtual environment .venv. Nothing outside this directory changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := results/demo
# Results of the last `make bench`, and of the one before.
NEW := bench-results/latest.json
OLD := bench-results/previous.json
# Duration of `make fuzz` per target, in seconds.
FUZZ_SECONDS ?= 600
# Built page of the viewer.
PAGE := viewer/dist/index.html
# LONG=1 runs all tests, and sets the number of random cases per property.
PYTEST := $(BIN)/pytest $(if $(LONG),-m 'long or not long')
ifdef LONG
export BACKWATER_CASES ?= 3000
export PROPTEST_CASES ?= 3000
export BACKWATER_EXAMPLES ?= 1000
endif
# Folder of wheels and source distributions, and target of a wheel (default: this machine).
DIST ?= dist
TARGET ?= $(shell uname -m)-unknown-linux-gnu
# Minimum Rust version (see docs/decisions/0018-build-profiles.md).
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# Version of ruff that `make lint` requires.
RUFF := $(shell sed -n 's/^ *"\(ruff[^"]*\)",/\1/p' pyproject.toml)
# Build and result folder of cargo-mutants.
MUTANTS := target/mutants
# Base commit of the change that `make mutants` mutates.
BASE ?= HEAD
MUTATE = TMPDIR=$(abspath $(MUTANTS)/build) nice -n 15 cargo mutants --output $(MUTANTS) --test-tool nextest

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: $(PAGE) help node toolchain setup setup-tests demo test test-long test-cluster test-viewer test-wheel test-wireshark viewer wheel sdist release publish lint format bench bench-binaries bench-compare bench-costs bench-growth bench-instructions bench-threads docs fuzz mutants mutants-tool mutants-all clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

toolchain:
	@command -v cargo >/dev/null || { echo "Backwater needs Rust $(RUST) or later: install it from https://rustup.rs and try again." >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "Backwater needs Python 3.11 or later, but $(PYTHON) was not found: install it, or set make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Backwater needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) --version): set make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot create virtual environments: install its venv package (Debian: python3-venv)." >&2; exit 1; }

$(BIN)/maturin: pyproject.toml | toolchain
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'maturin>=1.16,<2'
	@touch $@

setup: toolchain $(BIN)/maturin ## Build the core and install Backwater into .venv
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release

# Builds a slower core with assertions, from the same compiled libraries as the Rust tests.
setup-tests: toolchain $(BIN)/maturin ## Build a core with assertions, and install the tools of tests and lint
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile dev --extras dev

demo: setup ## Run the quickstart scenario and print the path of its report
	$(BIN)/backwater run scenarios/quickstart.toml -o $(DEMO) --force
	@echo
	@echo "Open $(abspath $(DEMO))/report.html in a browser."

test: setup-tests ## Run the tests in Rust and Python
	cargo test --workspace
	$(PYTEST) -n auto --dist loadgroup

test-long: ## Run all tests, also the long ones, with many more random cases: hours
	$(MAKE) LONG=1 test test-wireshark test-cluster test-viewer test-wheel

node:
	@command -v npm >/dev/null || { echo "The viewer needs Node 20.19 or later to build: install Node." >&2; exit 1; }
	@node -e 'const [major, minor] = process.versions.node.split("."); process.exit(+(major * 100 + +minor < 2019))' || { echo "The viewer needs Node 20.19 or later to build, but node is $$(node --version)." >&2; exit 1; }

$(PAGE): node
	cd viewer && npm ci --silent --no-audit --no-fund && npm run --silent check && npm run --silent build

viewer: $(PAGE) ## Build the committed page of the viewer (needs Node)
	cp $(PAGE) python/backwater/viewer/page.html

test-viewer: setup-tests $(PAGE) ## Test the viewer (needs Node and Chromium; Debian: chromium)
	@command -v chromium >/dev/null || { echo "These tests need Chromium (Debian: apt install chromium)." >&2; exit 1; }
	@cmp $(PAGE) python/backwater/viewer/page.html || { echo "The committed page of the viewer is out of date: run make viewer." >&2; exit 1; }
	cd viewer && npm test --silent
	$(BIN)/pip install --quiet "playwright>=1.65,<2"
	$(PYTEST) tests/viewer

test-cluster: setup-tests ## Test sweeps on Ray and submitit (installs both)
	$(BIN)/pip install --quiet "ray>=2.60,<3" "submitit>=1.5,<2"
	$(PYTEST) tests/cluster

test-wireshark: setup-tests ## Test captures (needs tshark; Debian: tshark)
	@command -v tshark >/dev/null || { echo "These tests need tshark: install Wireshark (Debian: apt install tshark)." >&2; exit 1; }
	$(PYTEST) tests/wireshark

wheel: toolchain $(BIN)/maturin ## Build the wheel into dist/; TARGET=aarch64-unknown-linux-gnu for arm64
	@test -d "$$(rustc --print target-libdir --target $(TARGET))" || { echo "Rust cannot compile for $(TARGET) yet: rustup target add $(TARGET)" >&2; exit 1; }
	$(BIN)/pip install --quiet 'maturin[zig]>=1.16,<2'
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --profile dist --locked --strip --zig --compatibility manylinux_2_17 --target $(TARGET) --out $(DIST)

sdist: toolchain $(BIN)/maturin ## Build the source distribution into dist/
	$(BIN)/maturin sdist --out $(DIST)

test-wheel: setup-tests wheel sdist ## Test the wheel and the source distribution outside the clone
	DIST=$(DIST) $(PYTEST) tests/wheel

release: toolchain $(BIN)/maturin ## Build, check, commit and tag VERSION=X.Y.Z, without an upload
	$(BIN)/pip install --quiet 'twine>=7,<8'
	$(BIN)/python release/release.py "$(VERSION)"

publish: ## Upload the archives of `make release VERSION=X.Y.Z`
	@git rev-parse --quiet --verify "refs/tags/v$(VERSION)" >/dev/null && ls dist/$(VERSION)/backwater-$(VERSION).tar.gz >/dev/null || { echo "There is no release $(VERSION) in dist/: run make release VERSION=X.Y.Z." >&2; exit 1; }
	$(BIN)/twine upload dist/$(VERSION)/*

lint: setup-tests ## Check format, style and types
	git ls-files '*.rs' | xargs rustfmt --edition 2024 --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest backwater._core
	$(BIN)/python tests/check_layering.py
	$(BIN)/lint-imports --no-cache pyproject.toml
	$(BIN)/python docs/generate.py --check

format: $(BIN)/maturin ## Format all sources
	$(BIN)/pip install --quiet '$(RUFF)'
	git ls-files '*.rs' | xargs rustfmt --edition 2024
	$(BIN)/ruff format

bench-binaries: setup
	cargo build --profile dist --quiet --package backwater-bench --package backwater-limit

bench: bench-binaries ## Measure CPU time and memory of the scenarios in benches/, beside the bare kernel
	@if [ -f $(NEW) ]; then mv $(NEW) $(OLD); fi
	$(BIN)/python benches/bench.py run --save $(NEW)

bench-compare: setup ## Compare the last measurement with the one before, or NEW=file with OLD=file
	$(BIN)/python benches/bench.py compare $(OLD) $(NEW)

bench-costs: bench-binaries ## Measure the cost of each mechanism and each probe
	$(BIN)/python benches/bench.py costs

bench-growth: bench-binaries ## Measure how cost and memory grow with the number of hosts
	$(BIN)/python benches/bench.py growth --chart docs/assets/growth.svg

bench-instructions: bench-binaries ## Count instructions per packet-hop; fail if a count grew
	$(BIN)/python benches/bench.py instructions

bench-threads: bench-binaries ## Measure the speed-up on two threads; fail if results differ
	$(BIN)/python benches/bench.py threads

docs: setup-tests ## Generate docs/reference and build the site
	$(BIN)/python docs/generate.py
	$(BIN)/pip install --quiet 'mkdocs-material>=9.8,<10'
	$(BIN)/mkdocs build --strict

fuzz: toolchain ## Fuzz every parser, FUZZ_SECONDS each (needs cargo-fuzz and a nightly tool chain)
	@cargo fuzz --version >/dev/null 2>&1 || { echo "Fuzzing needs cargo-fuzz: cargo install cargo-fuzz" >&2; exit 1; }
	set -e; for target in $$(cargo +nightly fuzz list); do cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS); done

mutants-tool: toolchain
	@cargo mutants --version >/dev/null 2>&1 && cargo nextest --version >/dev/null 2>&1 || { echo "Mutants need cargo-mutants and cargo-nextest: cargo install --locked cargo-mutants cargo-nextest" >&2; exit 1; }
	@mkdir -p $(MUTANTS)/build

mutants: mutants-tool ## Mutate the lines changed since BASE (default: HEAD); tests must catch the mutants
	@new=$$(git ls-files --others --exclude-standard '*.rs'); test -z "$$new" || { echo "New files are not part of the change before git add -N:" $$new >&2; exit 1; }
	git diff $(BASE) -- '*.rs' > $(MUTANTS)/change.diff
	$(MUTATE) --in-diff $(MUTANTS)/change.diff

mutants-all: mutants-tool ## Mutate everything, which takes days; SHARD=0/10 takes a tenth
	$(MUTATE) --sharding round-robin $(if $(SHARD),--shard $(SHARD))

clean: ## Remove build outputs, but no results
	rm -rf target $(VENV)
