# Everything a contributor runs. `make test` is what CI runs. Modules below the main one hold tests
# only, and are vetted by go test itself.

MODULES := . llm/oracletest
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 30s
BENCHTIME ?= 1s

.PHONY: test lint vet race setup bench fuzz mutants exhaustive storm test-local-models build clean

test: setup lint vet race

setup:
	@sh scripts/setup.sh

lint:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	@echo staticcheck; go tool staticcheck ./...

vet:
	@echo vet; go vet ./...
	@echo "types for darwin and windows"; go run ./internal/crosscheck darwin windows

# Packages that start no goroutines are tested without the race detector, which takes several times as long. So is
# llm/oracletest: the vendors' SDKs take long to compile. What vet has looked at is not vetted again, and test
# binaries without debug information link faster. The race detector need not wait a second at the end of each process.
PLAIN := ./llm/openai ./llm/anthropic ./llm/gemini ./llm/chat ./llm/chat/texttools ./llm/object ./llm/picture \
	./compact ./coding/edit ./coding/patch ./coding/textfile ./policy ./policy/shell ./policy/repo ./config ./trust ./env/sandbox ./secret \
	./agent/step ./host/show ./cmd/reins ./internal/apitext ./internal/corpus ./internal/hidden ./internal/jsonscan

# The scripts of host/cli start hundreds of processes, each slow with the race detector; the other tests of the package
# have it.
race:
	@echo "test packages without goroutines"; go test -vet=off -ldflags=-w $(PLAIN)
	@echo "test the scripts of host/cli"; go test -vet=off -ldflags=-w -run '^TestScripts$$' ./host/cli
	@echo "test ."; GORACE=atexit_sleep_ms=10 go test -race -skip '^TestScripts$$' -vet=off -ldflags=-w $$(go list ./... | grep -vxF "$$(go list $(PLAIN))")
	@echo "test llm/oracletest"; cd llm/oracletest && go test ./...
	@echo "test localtest/gguf"; cd localtest && go vet ./... && go test ./gguf

bench:
	@for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...) || exit 1; done
	go run ./bench

fuzz:
	@sh scripts/fuzz.sh $(FUZZTIME)

# Breaks the code in one place after the other and reports which changes no test notices; PKG=./agent does so for
# one package. It takes about an hour for all of them.
mutants:
	@go run ./internal/mutants -pkg "$(PKG)"

# Runs the longest tests in full: every fault at every record, 200 kills; and the scripts with the race detector. "make test" runs a part of them, a
# different one each time.
exhaustive:
	REINS_EXHAUSTIVE=1 go test -count=1 -timeout 60m ./agent/... ./host/cli ./event/filestore
	go test -race -count=1 -run '^TestScripts$$' ./host/cli

# Kills runs in the middle of commands beside 2,500 other processes, and resumes them at once.
storm:
	REINS_STORM=1 go test ./host/cli -run KilledOnABusyMachine -count=1 -timeout 20m -v

# Runs Reins with a real Ollama, whose models have scripted weights. The first run builds Ollama with gcc (7 minutes of CPU
# time) and installs the Portkey gateway from npm, both in the user's cache directory. The tests take one to two minutes.
test-local-models:
	@ollama=$$(sh localtest/ollama.sh) && portkey=$$(sh localtest/gateway.sh) && cd localtest && \
	REINS_OLLAMA=$$ollama REINS_PORTKEY=$$portkey go test -count=1 -timeout 20m ./...

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/reins-agent/reins/host/cli.Version=$(VERSION)" -o bin/reins ./cmd/reins

clean:
	rm -rf bin
