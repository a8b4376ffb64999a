# Everything runs inside a virtual environment of its own, .venv; nothing outside this directory is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := results/demo
# What `make bench` writes, and what it moves the previous measurement to.
NEW := bench-results/latest.json
OLD := bench-results/previous.json
# Seconds that `make fuzz` spends on each target.
FUZZ_SECONDS ?= 600
# The page of the viewer, as it is built.
PAGE := viewer/dist/index.html
# With LONG=1 all tests run, and properties with so many random cases.
PYTEST := $(BIN)/pytest $(if $(LONG),-m 'long or not long')
ifdef LONG
export BACKWATER_CASES ?= 3000
export PROPTEST_CASES ?= 3000
export BACKWATER_EXAMPLES ?= 1000
endif
# Where wheels and source distributions go, and what a wheel is built for: this machine.
DIST ?= dist
TARGET ?= $(shell uname -m)-unknown-linux-gnu
# The oldest Rust that has all that Backwater uses: docs/decisions/0018.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# The version of ruff that lint wants.
RUFF := $(shell sed -n 's/^ *"\(ruff[^"]*\)",/\1/p' pyproject.toml)
# Where cargo-mutants builds, apart from all else, and writes its results.
MUTANTS := target/mutants
# Commit at which the change begins whose lines `make mutants` changes.
BASE ?= HEAD
MUTATE = TMPDIR=$(abspath $(MUTANTS)/build) nice -n 15 cargo mutants --output $(MUTANTS) --test-tool nextest

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: $(PAGE) help node toolchain setup setup-tests demo test test-long test-cluster test-viewer test-wheel test-wireshark viewer wheel sdist release publish lint format bench bench-binaries bench-compare bench-costs bench-instructions bench-threads docs fuzz mutants mutants-tool mutants-all clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

toolchain:
	@command -v cargo >/dev/null || { echo "Backwater needs Rust $(RUST) or later: install it from https://rustup.rs, then try again." >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "Backwater needs Python 3.11 or later, and there is no $(PYTHON): install it, or name another one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Backwater needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) --version): name another one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian: python3-venv)." >&2; exit 1; }

$(BIN)/maturin: pyproject.toml | toolchain
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'maturin>=1.16,<2'
	@touch $@

setup: toolchain $(BIN)/maturin ## Build the core and install Backwater into .venv
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release

# A core with assertions: slower, and built with what the tests in Rust are built with.
setup-tests: toolchain $(BIN)/maturin ## Build the core as tests need it, and install it with what tests and lint need
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile dev --extras dev

demo: setup ## Run the quickstart scenario and say where its report lies
	$(BIN)/backwater run scenarios/quickstart.toml -o $(DEMO) --force
	@echo
	@echo "Open $(abspath $(DEMO))/report.html in a browser."

test: setup-tests ## Run the tests in Rust and Python
	cargo test --workspace
	$(PYTEST) -n auto --dist loadgroup

test-long: ## Run all tests, also those that take long, with many more random cases: hours
	$(MAKE) LONG=1 test test-wireshark test-cluster test-viewer test-wheel

node:
	@command -v npm >/dev/null || { echo "The page of the viewer is built with Node: install Node 20.19 or later." >&2; exit 1; }
	@node -e 'const [major, minor] = process.versions.node.split("."); process.exit(+(major * 100 + +minor < 2019))' || { echo "The page of the viewer is built with Node 20.19 or later, but node is $$(node --version)." >&2; exit 1; }

$(PAGE): node
	cd viewer && npm ci --silent --no-audit --no-fund && npm run --silent check && npm run --silent build

viewer: $(PAGE) ## Build the page of the viewer, which is committed (needs Node)
	cp $(PAGE) python/backwater/viewer/page.html

test-viewer: setup-tests $(PAGE) ## Run the tests of the viewer, which need Node and Chromium (Debian: chromium)
	@command -v chromium >/dev/null || { echo "These tests need Chromium (Debian: apt install chromium)." >&2; exit 1; }
	@cmp $(PAGE) python/backwater/viewer/page.html || { echo "The page that is committed is not what its sources make: make viewer builds it." >&2; exit 1; }
	cd viewer && npm test --silent
	$(BIN)/pip install --quiet "playwright>=1.65,<2"
	$(PYTEST) tests/viewer

test-cluster: setup-tests ## Run the tests of sweeps on Ray and by submitit, which are installed for it
	$(BIN)/pip install --quiet "ray>=2.60,<3" "submitit>=1.5,<2"
	$(PYTEST) tests/cluster

test-wireshark: setup-tests ## Run the tests that need tshark, which must be there (Debian: tshark)
	@command -v tshark >/dev/null || { echo "These tests need tshark: install Wireshark (Debian: apt install tshark)." >&2; exit 1; }
	$(PYTEST) tests/wireshark

wheel: toolchain $(BIN)/maturin ## Build the wheel into dist/; with TARGET=aarch64-unknown-linux-gnu that for arm64
	@test -d "$$(rustc --print target-libdir --target $(TARGET))" || { echo "Rust cannot compile for $(TARGET) yet: rustup target add $(TARGET)" >&2; exit 1; }
	$(BIN)/pip install --quiet 'maturin[zig]>=1.16,<2'
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --profile dist --locked --strip --zig --compatibility manylinux_2_17 --target $(TARGET) --out $(DIST)

sdist: toolchain $(BIN)/maturin ## Build the source distribution into dist/
	$(BIN)/maturin sdist --out $(DIST)

test-wheel: setup-tests wheel sdist ## Install the wheel and the source distribution outside the clone, and run Backwater there
	DIST=$(DIST) $(PYTEST) tests/wheel

release: toolchain $(BIN)/maturin ## Build and check everything of VERSION=X.Y.Z, commit and tag it; nothing is uploaded
	$(BIN)/pip install --quiet 'twine>=7,<8'
	$(BIN)/python release/release.py "$(VERSION)"

publish: ## Upload what `make release VERSION=X.Y.Z` made
	@git rev-parse --quiet --verify "refs/tags/v$(VERSION)" >/dev/null && ls dist/$(VERSION)/backwater-$(VERSION).tar.gz >/dev/null || { echo "There is no release $(VERSION) in dist/: make release VERSION=X.Y.Z makes one." >&2; exit 1; }
	$(BIN)/twine upload dist/$(VERSION)/*

lint: setup-tests ## Check format, style and types
	cargo fmt --all --check
	rustfmt --edition 2024 --check examples/on-off/src/lib.rs
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
	cargo fmt --all
	rustfmt --edition 2024 examples/on-off/src/lib.rs
	$(BIN)/ruff format

bench-binaries: setup
	cargo build --profile dist --quiet --package backwater-bench --package backwater-limit

bench: bench-binaries ## Measure CPU time and memory of the scenarios in benches/, beside the bare kernel
	@if [ -f $(NEW) ]; then mv $(NEW) $(OLD); fi
	$(BIN)/python benches/bench.py run --save $(NEW)

bench-compare: setup ## Set the last measurement against the one before, or OLD=file against NEW=file
	$(BIN)/python benches/bench.py compare $(OLD) $(NEW)

bench-costs: bench-binaries ## Measure what each mechanism and each probe costs
	$(BIN)/python benches/bench.py costs

bench-instructions: bench-binaries ## Count instructions per packet-hop, and fail if they are more than committed
	$(BIN)/python benches/bench.py instructions

bench-threads: bench-binaries ## Measure the speed-up on two threads, and fail if results differ
	$(BIN)/python benches/bench.py threads

docs: setup-tests ## Write the generated pages of docs/reference and build the site
	$(BIN)/python docs/generate.py
	$(BIN)/pip install --quiet 'mkdocs-material>=9.8,<10'
	$(BIN)/mkdocs build --strict

fuzz: toolchain ## Fuzz every parser, FUZZ_SECONDS each (needs cargo-fuzz and a nightly tool chain)
	@cargo fuzz --version >/dev/null 2>&1 || { echo "Fuzzing needs cargo-fuzz: cargo install cargo-fuzz" >&2; exit 1; }
	set -e; for target in $$(cargo +nightly fuzz list); do cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS); done

mutants-tool: toolchain
	@cargo mutants --version >/dev/null 2>&1 && cargo nextest --version >/dev/null 2>&1 || { echo "Needs cargo-mutants and cargo-nextest: cargo install --locked cargo-mutants cargo-nextest" >&2; exit 1; }
	@mkdir -p $(MUTANTS)/build

mutants: mutants-tool ## Make small mistakes in the lines that changed since BASE (default: HEAD); tests must notice
	@new=$$(git ls-files --others --exclude-standard '*.rs'); test -z "$$new" || { echo "These files are new, and no part of the change before git add -N:" $$new >&2; exit 1; }
	git diff $(BASE) -- '*.rs' > $(MUTANTS)/change.diff
	$(MUTATE) --in-diff $(MUTANTS)/change.diff

mutants-all: mutants-tool ## Make small mistakes everywhere, which takes days; SHARD=0/10 takes a tenth
	$(MUTATE) --sharding round-robin $(if $(SHARD),--shard $(SHARD))

clean: ## Remove what was built, but no results
	rm -rf target $(VENV)
