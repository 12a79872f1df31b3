package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// BenchmarkPolicyCheck_JSONL judges the command lines of package policy with the rules of a developer.
func BenchmarkPolicyCheck_JSONL(b *testing.B) {
	text, err := os.ReadFile("../../policy/testdata/commands.txt")
	if err != nil {
		b.Fatal(err)
	}
	var queries []byte
	n := 0
	for line := range strings.Lines(string(text)) {
		_, command, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || line[0] == '#' {
			continue
		}
		q, err := json.Marshal(map[string]any{"id": n, "command": command})
		if err != nil {
			b.Fatal(err)
		}
		queries = append(append(queries, q...), '\n')
		n++
	}
	dir := b.TempDir()
	for b.Loop() {
		h := Host{
			Args:  []string{"policy", "check", "--cwd", dir, "--rules", "../../policy/testdata/deny.json", "--jsonl"},
			Stdin: bytes.NewReader(queries), Stdout: io.Discard, Stderr: os.Stderr, Getenv: func(string) string { return "" },
		}
		if code := Main(h); code != 0 {
			b.Fatalf("exit code %d", code)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "queries/s")
}
