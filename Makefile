# umpire: see `make help`
SHELL := /bin/bash
CARGO ?= cargo
# What a run of `make bench` gets: make bench ARGS="--rounds 9 --seconds 15 --save"
ARGS ?=
FUZZ_SECONDS ?= 60
# Of `make differential`, on each kind of server
SESSIONS ?= 10000
# Of `make judge`, on each kind of server
STATEMENTS ?= 100000
# Of `make test-delayed`, how late
DELAY ?= 1

.PHONY: help build drivers test check unit soak differential judge test-delayed test-direct demo demo-sharding bench bench-build profile compat compat-mysql instructions turn flamegraph acceptance fuzz asan deny servers clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

build:           ## the release binary, target/release/umpire, laid out by the profile in perf/
	RUSTFLAGS="$$RUSTFLAGS $$(perf/flags.sh)" $(CARGO) build --release --locked

test: servers check    ## format, lints and all tests, with real servers; every fuzz target for FUZZ_SECONDS beside them
	@rm -f $${CARGO_TARGET_DIR:-target}/tmp/skipped.log
	@CARGO="$(CARGO)" loadtest/test.sh $(FUZZ_SECONDS)

check:           ## format and lints only
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings

unit:            ## the tests that need no server
	$(CARGO) test --locked --lib --test layers

soak: servers    ## the load tests with their full numbers (1,000 clients, 100 times; sysbench 60 s each; a million statements prepared)
	UMPIRE_SOAK=1 $(CARGO) test --locked --release --test load --test prepared

differential: servers    ## SESSIONS random sessions, direct and through the proxy, compared packet by packet (MariaDB, MySQL)
	UMPIRE_SESSIONS=$(SESSIONS) $(CARGO) test --locked --test differential -- --nocapture --test-threads=1

judge: servers    ## STATEMENTS random statements on four shards and on one server, compared (MariaDB, MySQL); UMPIRE_SEED repeats a run
	UMPIRE_SEED=$${UMPIRE_SEED:-$$(date +%N)} UMPIRE_STATEMENTS=$(STATEMENTS) $(CARGO) test --locked --test sharding random_statements -- --nocapture --test-threads=1

test-delayed: servers   ## all tests with replicas that are DELAY seconds late: what a test takes for granted shows
	UMPIRE_TESTS_DELAY=$(DELAY) $(CARGO) test --locked --no-fail-fast

test-direct: servers   ## the same expectations against MariaDB itself, without the proxy
	UMPIRE_TESTS_DIRECT=1 $(CARGO) test --locked --test session --test prepared --test protocol --test login --test routing

drivers: servers build   ## the same work through 31 drivers and tools, directly and through Umpire; ARGS="--help" says more
	python3 tests/drivers/run.py $(ARGS)

demo: servers    ## from nothing to a proxy in front of a primary and two replicas, and what went where
	@demo/run.sh

demo-sharding: servers    ## from nothing to a table over four shards: created, filled, explained, reported
	@demo/sharding.sh

profile: servers bench-build   ## perf/umpire.profdata anew, by which `build` lays out the binary; for when a statement's way has changed
	perf/profile.sh $(ARGS)

bench: servers bench-build   ## side by side with HAProxy and the other proxies that are installed; ARGS="--help" says more
	python3 loadtest/bench.py $(ARGS)

bench-build: build     ## the load generator, target/release/examples/loadgen
	RUSTFLAGS="$$RUSTFLAGS $$(perf/flags.sh)" $(CARGO) build --release --locked --example loadgen

instructions:    ## instructions of each stage of a turn (callgrind) against perf/ceilings.txt
	perf/callgrind.sh $(ARGS)

turn: servers bench-build   ## instructions of a whole turn on the worker, by function, against perf/ceilings.txt
	perf/turn.sh $(ARGS)

flamegraph: servers bench-build   ## where one worker spends its time under load: target/flamegraph.svg
	perf/flamegraph.sh $(ARGS)

compat: servers build    ## MariaDB's own test suite through Umpire against a direct connection; ARGS="main.select …" or all of `main`
	tests/compat/run.sh target/release/umpire target/compat $(ARGS)

compat-mysql: servers build    ## the same with MySQL's suite (downloads 410 MB once); ARGS="main.select …"
	MYSQL_SUITE=$$(tests/servers/get-mysql.sh suite) tests/compat/run.sh target/release/umpire target/compat-mysql $(ARGS)

acceptance: servers build   ## sysbench, 64 threads, 60 s each, on MariaDB and MySQL; data compared afterwards
	loadtest/acceptance.sh $(ARGS)

fuzz:            ## the fuzz targets for FUZZ_SECONDS each, with AddressSanitizer (needs cargo-fuzz)
	loadtest/fuzz.sh $(FUZZ_SECONDS)

asan:            ## the unit tests, the network's unsafe code among them, with AddressSanitizer
	loadtest/asan.sh $(ARGS)

deny:            ## licences, sources, bans and known faults of the crates, by deny.toml (needs cargo-deny)
	loadtest/deny.sh

servers:         ## installs what is missing of MariaDB, sysbench and HAProxy, where it may
	@tests/servers/get-servers.sh

clean:           ## removes the build folder
	$(CARGO) clean
