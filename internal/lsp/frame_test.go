package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// split feeds output to a framer in pieces.
func split(t testing.TB, output string, piece int) ([]string, error) {
	t.Helper()
	var f framer
	var got []string
	for b := []byte(output); len(b) > 0; {
		n := min(piece, len(b))
		if err := f.write(b[:n], func(m []byte) { got = append(got, string(m)) }); err != nil {
			return got, err
		}
		b = b[n:]
	}
	return got, nil
}

func TestFramer_FindsMessagesInAnyPieces(t *testing.T) {
	const output = "Content-Length: 2\r\n\r\n{}" +
		"content-length:3\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n[1]" +
		"debug: loading\n\nContent-Length: 0\r\n\r\n" + // stray text, and an empty message
		"no newlineContent-Length: 4\r\n\r\nnull" +
		"Content-Length: 9\r\n\r\n\"a\r\n\r\nb\"\n"
	want := []string{"{}", "[1]", "null", "\"a\r\n\r\nb\"\n"}
	for piece := 1; piece < 40; piece++ {
		got, err := split(t, output, piece)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: got %q, %v; want %q", piece, got, err, want)
		}
	}
}

func TestFramer_LimitsMessageSizes(t *testing.T) {
	for name, output := range map[string]string{
		"too large":       fmt.Sprintf("Content-Length: %d\r\n\r\n", 33<<20),
		"negative length": "Content-Length: -1\r\n\r\n",
		"no number":       "Content-Length: many\r\n\r\n",
		"stray lines":     strings.Repeat(strings.Repeat("x", 99)+"\n", 12_000),
		"endless line":    strings.Repeat("x", 2<<20),
	} {
		if got, err := split(t, output, 4096); err == nil {
			t.Errorf("%s: got messages %q and no error", name, got)
		}
	}
	if got, err := split(t, strings.Repeat("noise\n", 100)+"Content-Length: 2\r\n\r\n{}", 7); err != nil || len(got) != 1 {
		t.Errorf("a little noise: got %q, %v; want one message", got, err)
	}
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"), 3)
	f.Add([]byte("noise\nContent-Length: 5\n\n12345Content-Length: 1\r\n\r\n7"), 1)
	f.Add([]byte("Content-Length: 99999999999999999999\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, output []byte, piece int) {
		whole, err := split(t, string(output), len(output)+1)
		parts, errParts := split(t, string(output), max(1, piece%16))
		if len(output) < maxHeader && (!slices.Equal(whole, parts) || (err == nil) != (errParts == nil)) {
			t.Errorf("in pieces of %d: got %q, %v; want %q, %v", piece, parts, errParts, whole, err)
		}
		back, err := split(t, string(frame(output)), max(1, piece%16))
		if len(output) > 0 && (err != nil || len(back) != 1 || back[0] != string(output)) {
			t.Errorf("framed: got %q, %v; want %q", back, err, output)
		}
	})
}
