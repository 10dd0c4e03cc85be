.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(PATH):/usr/local/go/bin# sudo drops it
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
MAINTAINER ?= brig developers <brig@localhost># of the Debian package: distributors set their own name
# What is built, tested and checked has the same flags: with others the compiler makes all of it once more. A
# target that has tags of its own names these, too.
TAGS := $(shell cat .ci/build-tags)
export GOFLAGS := -trimpath -tags=$(TAGS)
LDFLAGS := -s -w -X main.version=$(VERSION)
STATIC := -ldflags '$(LDFLAGS) -linkmode external -extldflags -static'
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
CELLINIT := runtime/cell/cellinit/cellinit.elf
IMAGEFILES := runtime/image/imagefiles/imagefiles.elf
TEMPLATE_DRIVERS := $(addprefix runtime/template/snapshot/,python.so loader.so ruby.so php.so node.so java.so compiler.so)
CELLINIT_ABLATE := runtime/cell/cellinit/cellinit-ablate.elf
CELLINIT_SRC := $(wildcard runtime/cell/cellinit/*.c runtime/cell/cellinit/*.h)
CELLINIT_FLAGS := -std=gnu11 -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib -static \
	-fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -mgeneral-regs-only \
	-fno-pic -no-pie -fno-tree-loop-distribute-patterns \
	-Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,noseparate-code -s

PROBES := internal/corpus/built/probes.elf
ALONE := internal/corpus/built/SEC-33.elf# separate programs: they run code before main that others must not have
PROBE_SRC := $(filter-out testdata/hostile/sweep.c testdata/hostile/dispatch.c $(ALONE:internal/corpus/built/%.elf=testdata/hostile/%.c),$(wildcard testdata/hostile/*.c))# sweep has no C library
EXPECT := $(patsubst testdata/hostile/%,internal/corpus/built/%,$(wildcard testdata/hostile/*.expect.json))
PROBE_OBJ := $(PROBE_SRC:testdata/hostile/%.c=bin/probes/%.o)

help: ## list targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(CELLINIT): $(CELLINIT_SRC) Makefile
	gcc $(CELLINIT_FLAGS) -o $@ $(filter %.c,$^)

$(IMAGEFILES): $(wildcard runtime/image/imagefiles/*.c runtime/image/imagefiles/*.h) runtime/cell/cellinit/msg.c runtime/cell/cellinit/sys.h runtime/cell/cellinit/wire.h Makefile
	gcc $(CELLINIT_FLAGS) -o $@ $(filter %.c,$^)

# restore and write run without a C library, or change it: they use no other registers, canaries or calls.
bin/template/%.o: runtime/template/snapshot/%.c $(wildcard runtime/template/snapshot/*.h) Makefile
	@mkdir -p $(@D)
	gcc -c -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-stack-protector -fcf-protection=none \
		-fno-tree-loop-distribute-patterns -mgeneral-regs-only -o $@ $<

# These call the C library of the image.
bin/template/start.o bin/template/script.o bin/template/python.o bin/template/traceback.o bin/template/finish.o bin/template/loader.o bin/template/ruby.o bin/template/php.o bin/template/node.o bin/template/java.o bin/template/compiler.o bin/template/search.o bin/template/executable.o: bin/template/%.o: runtime/template/snapshot/%.c $(wildcard runtime/template/snapshot/*.h) Makefile
	@mkdir -p $(@D)
	gcc -c -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-stack-protector -U_FORTIFY_SOURCE -o $@ $<

runtime/template/snapshot/python.so: bin/template/traceback.o bin/template/finish.o
runtime/template/snapshot/ruby.so runtime/template/snapshot/php.so runtime/template/snapshot/node.so runtime/template/snapshot/java.so runtime/template/snapshot/compiler.so: bin/template/script.o
runtime/template/snapshot/node.so runtime/template/snapshot/java.so: bin/template/search.o
runtime/template/snapshot/loader.so runtime/template/snapshot/node.so runtime/template/snapshot/java.so runtime/template/snapshot/compiler.so: bin/template/executable.o

$(TEMPLATE_DRIVERS): runtime/template/snapshot/%.so: bin/template/%.o bin/template/mappings.o bin/template/write.o bin/template/restore.o bin/template/start.o bin/template/threads.o bin/template/descriptors.o
	gcc -shared -Wl,-z,now -Wl,--build-id=none -s -o $@ $^

cellinit: $(CELLINIT) ## PID 1 of a cell, embedded in brigd

$(CELLINIT_ABLATE): $(CELLINIT_SRC) Makefile
	gcc $(CELLINIT_FLAGS) -DABLATE -o $@ $(filter %.c,$^)

# Each probe is compiled separately and exports only its main, as probe_NAME, to the others.
bin/probes/%.o: testdata/hostile/%.c $(wildcard testdata/hostile/*.h)
	@mkdir -p $(@D)
	@gcc -c -O1 -pthread -w -Dmain=probe_$(subst -,_,$*) -o $@ $< && objcopy --keep-global-symbol=probe_$(subst -,_,$*) $@

# What is expected of each is embedded with them.
$(EXPECT): internal/corpus/built/%: testdata/hostile/%
	@mkdir -p $(@D)
	@cp $< $@

$(ALONE): internal/corpus/built/%.elf: testdata/hostile/%.c $(wildcard testdata/hostile/*.h)
	@mkdir -p $(@D)
	@gcc -static -O1 -pthread -w -s -o $@ $<

$(PROBES): $(PROBE_OBJ) testdata/hostile/dispatch.c ## all hostile programs in one binary, embedded in brig
	@mkdir -p $(@D)
	@for p in $(basename $(notdir $(PROBE_OBJ))); do echo "PROBE(\"$$p\", probe_$${p//-/_})"; done >bin/probes/probes.inc
	@gcc -static -O1 -pthread -w -s -Ibin/probes -o $@ testdata/hostile/dispatch.c $(PROBE_OBJ)

# The same as a dynamic program, for the tests alone: templates begin from such.
bin/probes/dynamic: $(PROBES)
	@gcc -O1 -pthread -w -s -DFROM_SOURCE -Ibin/probes -o $@ testdata/hostile/dispatch.c $(PROBE_OBJ)

layers: build $(CELLINIT_ABLATE) ## docs/reports/layers.md: run the corpus with each layer left out, in a virtual machine (root)
	@.ci/layers

tiers: build ## docs/reports/tiers.md: what breaks without each call of each tier (root; LANGUAGES="python ...", TIERS="strict ..." restrict it)
	BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 BRIG_TIERS_LANGUAGES="$(LANGUAGES)" BRIG_TIERS_ONLY="$(TIERS)" \
		go test -count=1 -timeout 60m -tags $(TAGS),tiers -run '^TestTiers$$' ./internal/e2e/languages

channels: build ## docs/reports/channels.md: what two runs of one image can communicate to each other, by tier and mode (root)
	BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 go test -count=1 -timeout 30m -tags $(TAGS),channels -run '^TestChannels$$' ./internal/e2e/neighbours

kernel-memory: build ## docs/reports/kernel-memory.md: kernel memory that a run uses and that is not charged to its group (root)
	BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 go test -count=1 -timeout 20m -tags $(TAGS),tiers -run '^TestKernelMemory$$' ./internal/e2e/limits

interpreters-tests: build ## CPython's own tests from a template and with the ordinary start (root; MODULES="test_os ..." restricts it; about an hour)
	BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 BRIG_INTERPRETERS_MODULES="$(MODULES)" \
		go test -count=1 -v -timeout 180m -tags $(TAGS),interpreters -run '^TestCPythonsOwnTests$$' ./internal/e2e/templates

foreign: build ## docs/grading.md: checkers and packages of others (root; DIR=FOLDER with clones of their repositories; WRITE=1: update the docs)
	BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 BRIG_FOREIGN="$(abspath $(DIR))" WRITE=$(WRITE) \
		go test -count=1 -v -timeout 60m -tags $(TAGS),foreign -run '^TestForeign(Checkers|Packages)$$' ./internal/e2e/grading

test-foreign: build ## docs/compatibility.md: suites and clients of others (root; DIR=FOLDER with clones of their repositories; SUITES="jobe ..." restricts it)
	@DIR="$(if $(DIR),$(abspath $(DIR)))" .ci/test-foreign $(SUITES)

build: $(CELLINIT) $(IMAGEFILES) $(TEMPLATE_DRIVERS) $(PROBES) $(ALONE) $(EXPECT) bin/probes/dynamic ## static binaries into bin/
	@mkdir -p bin
	go build $(STATIC) -o bin/brigd ./cmd/brigd
	CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o bin/brig ./cmd/brig

deps: ## install missing Debian packages (root)
	@.ci/install-deps

demo: ## from a clone to a sandboxed program: install packages, build, build the image, run
	@.ci/demo

test: ## all tests, and before them the packages that they need; root for the privileged ones
	@[ "$$(id -u)" != 0 ] || .ci/install-deps
	@$(MAKE) build
	@.ci/test

test-pure: build ## tests that need no privilege; those of packages with goroutines under the race detector
	@.ci/test pure

test-root: build ## privileged and hostile tests, and the command line's scripts (root)
	@.ci/test root

test-v2: build ## the privileged tests under cgroup v2, in virtual machines (root)
	@.ci/test v2

test-v2-all: build ## test-v2 plus the service, the command line and all volumes (root; 40 minutes)
	@BRIG_TEST_V2=all .ci/test v2

test-languages: build ## test every program of every language that comes with brig (root)
	@BRIG_TEST_LANGUAGES=all .ci/test languages

test-long: build ## the slow tests, and in full what make test repeats a few times; before an issue is resolved (root; an hour; WRITE=1: update the docs)
	@.ci/test long

storms: build ## 200 runs next to each storm of processor time (root; some minutes on an idle host)
	BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 BRIG_STORM_RUNS=200 \
		go test -count=1 -v -timeout 120m -run '^TestHostileStormsLeaveTheNeighbourAlone$$' ./internal/e2e/neighbours

image-python: build ## build and store the Python image (root)
	bin/brig rootfs build python

bench: build ## cost of a run compared with a plain spawn of the same program (root; STORE=DIR: with its languages and packages; WRITE=1: update the docs)
	go run ./internal/bench --bin bin $(if $(STORE),--store $(STORE)) $(if $(SLEEPERS),--sleepers $(SLEEPERS)) $(if $(WRITE),--summary README.md --write docs/reports/performance.md)

bench-batch: build ## rate, cost and memory of brig batch, and many workers (root; STORE=DIR: with its languages; WRITE=1: update the docs)
	go run ./internal/bench/batches --bin bin $(if $(STORE),--store $(STORE)) $(if $(WRITE),--write docs/batch.md)

chaos: build ## batches whose parts are killed at random, cut off and stopped (root; 15 minutes)
	BRIG_TEST_LONG=1 BRIG_CHAOS=$(if $(CHAOS),$(CHAOS),20000,200) BRIG_BIN=$(CURDIR)/bin BRIG_TEST_MUST=1 go test -count=1 -v -timeout 60m -tags $(TAGS),chaos \
		-run '^(TestChaosOfABatch|TestABatch.*|TestAKilledBatchIsResumed|TestStoppedParts.*)$$' ./internal/e2e/batch

languages: build ## cost of each language: image, start, least memory (root; WRITE=1: update the docs)
	go run ./internal/bench/languages --bin bin $(if $(STORE),--store $(STORE)) $(if $(WRITE),--write docs/languages.md)

truth: build ## accuracy of measurements and verdicts, with programs that know what they use (root; STORE=DIR: also its languages; WRITE=1: update the docs)
	go run ./internal/bench/accuracy --bin bin $(if $(STORE),--store $(STORE)) $(if $(WRITE),--write docs/reports/truth.md)

page: ## the files of the page, service/page/dist, from service/page/web; needs npm
	cd service/page/web && npm ci --ignore-scripts --no-audit --no-fund && npx tsc -p .
	go run ./service/page/build

test-page: build ## the page in Chromium against the real binaries; root, npm, chromium; PICTURES=FOLDER keeps pictures
	@.ci/apart .ci/page-test $(PICTURES)

fuzz: $(CELLINIT) $(IMAGEFILES) $(TEMPLATE_DRIVERS) $(PROBES) $(ALONE) $(EXPECT) ## run every fuzz target for FUZZTIME (default 1m)
	@.ci/fuzz $(or $(FUZZTIME),1m)

lint: vet ## vet and golangci-lint (.golangci.yml): before a commit
	go run $(GOLANGCI) run ./...

vet: $(CELLINIT) $(IMAGEFILES) $(TEMPLATE_DRIVERS) $(CELLINIT_ABLATE) $(PROBES) $(ALONE) $(EXPECT) ## gofmt, go vet, shellcheck, mypy: what of lint takes seconds
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "vet: run gofmt -w on the files above"; exit 1; }
	go vet ./...
	go vet -tags $(TAGS),ablate,tiers,channels,chaos,interpreters,foreign ./runtime/... ./internal/e2e/... ./cmd/brigd
	shellcheck -x -e SC2016,SC2317 $$(git grep -lE '^#!.*sh$$' -- .ci deploy)
	cd service/client/python && mypy --strict --cache-dir=/dev/null brig_sandbox tests build_backend.py

recording: build ## docs/recording.svg: real commands and their output (root; the Python and C++ images)
	@.ci/recording

hooks: ## check formatting and the subject before each commit in this clone
	git config core.hooksPath .ci/hooks

install: build ## install below PREFIX (/usr/local), settings below SYSCONFDIR: binaries, units, completions, documents
	@PREFIX="$(PREFIX)" SYSCONFDIR="$(SYSCONFDIR)" DESTDIR="$(DESTDIR)" deploy/packaging/install

uninstall: build ## remove what make install installed; data, users and changed settings stay
	@PREFIX="$(PREFIX)" SYSCONFDIR="$(SYSCONFDIR)" DESTDIR="$(DESTDIR)" deploy/packaging/install --remove

deb: build ## a Debian package in bin/
	@VERSION="$(DEBVERSION)" MAINTAINER="$(MAINTAINER)" deploy/packaging/deb

wheel: ## the Python client as a wheel and a source archive in build/wheel, without a network
	python3 -B service/client/python/build_backend.py build/wheel

image: build ## a container image of the gateway, with buildah, podman or docker (IMAGE=name:tag)
	@VERSION="$(VERSION)" deploy/packaging/image $(or $(IMAGE),localhost/brig-gateway:latest)

image-push: build ## build and push the container image: IMAGE=registry/name:tag
	@test -n "$(IMAGE)" || { echo "image-push: no target: run make image-push IMAGE=registry.example/brig-gateway:1"; exit 1; }
	@VERSION="$(VERSION)" deploy/packaging/image $(IMAGE)
	@deploy/packaging/image --push $(IMAGE)

clean: ## remove what was built
	rm -rf bin $(CELLINIT) $(IMAGEFILES) $(TEMPLATE_DRIVERS) $(CELLINIT_ABLATE) internal/corpus/built

.PHONY: vet page test-page test-long help bench-batch chaos storms layers interpreters-tests tiers channels kernel-memory foreign test-foreign cellinit build deps demo test test-pure test-root test-v2 test-v2-all test-languages image-python bench languages truth fuzz lint recording hooks install uninstall deb wheel image image-push clean
