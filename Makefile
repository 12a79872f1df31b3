# Everything a contributor runs. `make test` is what CI runs. Modules below the main one hold tests
# only, and are vetted by go test itself.

MODULES := . llm/oracletest
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 30s
BENCHTIME ?= 1s

.PHONY: test lint vet race setup bench fuzz build clean

test: setup lint vet race

setup:
	@sh scripts/setup.sh

lint:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	@echo staticcheck; go tool staticcheck ./...

vet:
	@for os in linux darwin windows; do echo "vet for $$os"; GOOS=$$os go vet ./... || exit 1; done

race:
	@for m in $(MODULES); do echo "test $$m"; (cd $$m && go test -race ./...) || exit 1; done

bench:
	@for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...) || exit 1; done
	go run ./bench

fuzz:
	@sh scripts/fuzz.sh $(FUZZTIME)

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/reins-agent/reins/host/cli.Version=$(VERSION)" -o bin/reins ./cmd/reins

clean:
	rm -rf bin
