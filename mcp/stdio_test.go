package mcp

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
)

// split returns the lines that a connection receives if the output comes in pieces of some size.
func split(data []byte, size int) (lines []string, log string) {
	c := &stdio{log: &tail{}, ended: func(error) {}}
	c.changed.L = &c.mu
	c.open = context.Background()
	for piece := range slices.Chunk(data, size) {
		c.receive(env.Stdout, piece)
	}
	c.end(io.EOF)
	for {
		line, err := c.next()
		if err != nil {
			return lines, c.log.String()
		}
		lines = append(lines, string(line))
	}
}

func TestClip_TruncatesBetweenCharacters(t *testing.T) {
	if got, want := clip(strings.Repeat("é", 4097)), strings.Repeat("é", 4096)+" [truncated]"; got != want {
		t.Errorf("got %d bytes that end in %q, want %d", len(got), got[len(got)-20:], len(want))
	}
	if whole := strings.Repeat("é", 4096); clip(whole) != whole {
		t.Error("4096 characters are truncated")
	}
}

func TestStdio_OtherLinesAreCountedFromTheLastMessage(t *testing.T) {
	stray := strings.Repeat("log\n", 1000)
	if lines, _ := split([]byte(stray+"{}\n"+stray+"[]\n"), 4096); len(lines) != 2 {
		t.Errorf("got %q, want two messages", lines)
	}
	if lines, _ := split([]byte(stray+"log\n{}\n"), 4096); len(lines) != 0 {
		t.Errorf("got %q after 1001 other lines, want none", lines)
	}
}

func TestStdio_LinesComeInPieces(t *testing.T) {
	data := []byte("{\"a\":1}\r\n\n  {\"b\":\"ü\"}\nListening on 1234\n[1]\n{\"incomplete\"")
	for size := 1; size <= len(data); size++ {
		lines, log := split(data, size)
		if !slices.Equal(lines, []string{`{"a":1}`, `{"b":"ü"}`, `[1]`}) || log != "Listening on 1234\n" {
			t.Errorf("in pieces of %d bytes: %q, and the log %q", size, lines, log)
		}
	}
}

func FuzzStdio_PiecesMakeNoDifference(f *testing.F) {
	f.Add([]byte("{}\n[]\r\nx\n\n{"), 3)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 || len(data) > maxBacklog {
			return
		}
		want, wantLog := split(data, max(1, len(data)))
		got, log := split(data, size)
		if !slices.Equal(got, want) || log != wantLog {
			t.Errorf("in pieces of %d bytes: %q and %q, as a whole: %q and %q", size, got, log, want, wantLog)
		}
	})
}

func TestTail_KeepsTheEndAndPassesOnLines(t *testing.T) {
	var lines []string
	l := &tail{line: func(p []byte) { lines = append(lines, string(p)) }}
	io.WriteString(l, "one\ntw")
	io.WriteString(l, "o\n\n"+strings.Repeat("x", maxLine+10)+"\nla\x1bst\r\n")
	want := []string{"one", "two", "", strings.Repeat("x", maxLine), strings.Repeat("x", 10), "la\x1bst\r"}
	if !slices.Equal(lines, want) || l.last() != "last" {
		t.Errorf("got the lines %.20q, and %q last", lines, l.last())
	}
	l.Write(bytes.Repeat([]byte("y"), 2*maxTail))
	if got := l.String(); got != strings.Repeat("y", maxTail) {
		t.Errorf("%d bytes are kept", len(got))
	}
}

func TestTail_PassesOnNoMoreThanItsLimit(t *testing.T) {
	n, last := 0, ""
	l := &tail{line: func(p []byte) { n, last = n+len(p), string(p) }}
	for range 100 {
		io.WriteString(l, strings.Repeat(strings.Repeat("x", 999)+"\n", 100))
	}
	if n > maxLog+100 || !strings.Contains(last, "too much") {
		t.Errorf("%d bytes were passed on, and %q last", n, last)
	}
	l.reset()
	io.WriteString(l, "again\n")
	if last != "again" {
		t.Errorf("after a restart, %q is last", last)
	}
}
