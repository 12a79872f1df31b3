package tuitest

import (
	"strings"
	"testing"
)

func TestEmulator_ErasesAndShifts(t *testing.T) {
	for in, want := range map[string]string{
		"abcdef\x1b[3D\x1b[K":            "abc",
		"abcdef\x1b[4G\x1b[1K":           "    ef",
		"abcdef\x1b[2K":                  "",
		"abcdef\x1b[2G\x1b[2P":           "adef",
		"abcdef\x1b[2G\x1b[2@":           "a  bcdef",
		"abcdef\x1b[2G\x1b[2X":           "a  def",
		"a\r\nb\r\nc\x1b[2d\x1b[1J":      "\n\nc",
		"a\r\nb\r\nc\x1b[2d\x1b[M":       "a\nc",
		"a\r\nb\r\nc\x1b[2d\x1b[L":       "a\n\nb\nc",
		"a\x1b7b\r\nc\x1b8d":             "ad\nc",
		"a\r\nb\x1b[H\x1bMc":             "c\na\nb",
		"a\r\nb\x1b[1;21r\x1b[2S":        "",
		"a\r\nb\x1b[9;21r\x1b[1S":        "b",
		"a\x1b(Bb\tc\x1b[F\x1b[2Ed\x1b=": "ab      c\n\nd",
	} {
		e := New(20, 5)
		for _, b := range []byte(in) {
			e.Write([]byte{b})
		}
		if got := e.Text(); got != want || len(e.Unknown) > 0 {
			t.Errorf("%q shows %q, want %q; unknown %q", in, got, want, e.Unknown)
		}
	}
}

func TestEmulator_ClearingTheHistoryKeepsTheScreen(t *testing.T) {
	e := New(10, 2)
	e.Write([]byte("a\r\nb\r\nc\x1b[3J"))
	if got := strings.Join(e.History, "|") + e.Text(); got != "b\nc" {
		t.Errorf("got %q", got)
	}
}
