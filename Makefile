.DEFAULT_GOAL := help
SHELL := /bin/bash
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
TAGS := netgo osusergo runc_nocriu
LDFLAGS := -s -w -X main.version=$(VERSION)
GOFLAGS_STATIC := -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS) -linkmode external -extldflags -static'
CELLINIT := runtime/cellinit/cellinit.elf
CELLINIT_SRC := $(wildcard runtime/cellinit/*.c runtime/cellinit/*.h)
CELLINIT_FLAGS := -std=gnu11 -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib -static \
	-fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -mgeneral-regs-only \
	-fno-pic -no-pie -fno-tree-loop-distribute-patterns \
	-Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,noseparate-code -s

help: ## list targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(CELLINIT): $(CELLINIT_SRC)
	gcc $(CELLINIT_FLAGS) -o $@ $(filter %.c,$^)

cellinit: $(CELLINIT) ## PID 1 of a cell, embedded in brigd

build: $(CELLINIT) ## static binaries into bin/
	@mkdir -p bin
	go build $(GOFLAGS_STATIC) -o bin/brigd ./cmd/brigd
	CGO_ENABLED=0 go build -trimpath -tags 'netgo osusergo' -ldflags '$(LDFLAGS)' -o bin/brig ./cmd/brig

deps: ## install the Debian packages that are missing (root)
	@scripts/install-deps

demo: ## from a clone to a sandboxed program: install, build, make the image, run
	@scripts/demo

test: build ## all tests; root for the privileged ones
	@scripts/test

test-pure: $(CELLINIT) ## tests that need no privilege, under the race detector
	go test -race ./api/... ./agent/... ./client/... ./seccomp/... ./cgroups/... ./internal/...

bench: build ## what a run costs beside the plain spawn of the same program (root)
	go run ./bench --bin bin

fuzz: $(CELLINIT) ## every fuzz target for FUZZTIME (default 1m)
	@scripts/fuzz $(or $(FUZZTIME),1m)

lint: $(CELLINIT) ## gofmt, vet, shellcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "lint: gofmt the files above"; exit 1; }
	go vet ./...
	shellcheck .ci/run scripts/*

install: build ## brig and brigd into /usr/local/bin
	install -m 0755 bin/brig bin/brigd /usr/local/bin/

clean: ## remove what was built
	rm -rf bin $(CELLINIT)

.PHONY: help cellinit build deps demo test test-pure bench fuzz lint install clean
