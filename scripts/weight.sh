#!/bin/sh
# Measures how much a program gets that uses the library: the public packages and the lines of their API, and for a small
# program that opens a coding session, the modules in its graph, the modules that it links, and the size of its binary.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
)

func main() {
	ctx := context.Background()
	session, err := coding.Open(ctx, coding.Config{Model: "claude-sonnet-5-5"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer session.Close()
	go func() {
		for r := range session.Events(ctx, 0) {
			fmt.Println(r.Kind())
		}
	}()
	out, err := session.Submit(ctx, llm.NewText(os.Args[1]))
	fmt.Println(out.Text, err)
}
GO
cd "$dir"
{
	go mod init example.com/weight
	go mod edit -require=github.com/reins-agent/reins@v0.0.0 -replace=github.com/reins-agent/reins="$root"
	go mod tidy
} 2> log || { cat log >&2; exit 1; }
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o program .
modules() { sort -u | grep -c -v -e '^$' -e '^example.com/weight$'; }
echo "$(ls "$root"/api | wc -l | tr -d ' ') public packages"
echo "$(cat "$root"/api/*.txt | wc -l | tr -d ' ') API lines"
echo "$(go list -m -f '{{.Path}}' all | modules) modules in the graph"
echo "$(go list -deps -f '{{with .Module}}{{.Path}}{{end}}' . | modules) modules linked"
echo "$(wc -c < program | tr -d ' ') bytes, linked statically without debug information"
