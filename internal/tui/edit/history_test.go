package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openHistory(t *testing.T, path string) *History {
	t.Helper()
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func add(t *testing.T, h *History, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if err := h.Add(Entry{Text: s}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistory_IsSharedByProgramsAndPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input", "history.jsonl")
	one, two := openHistory(t, path), openHistory(t, path)
	add(t, one, "first", "first", "second\nline")
	add(t, two, "third")
	add(t, one, "fourth")
	if err := two.Refresh(); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*History{one, two, openHistory(t, path)} {
		var got []string
		for n := 1; n <= h.Len(); n++ {
			got = append(got, h.Back(n).Text)
		}
		if want := []string{"fourth", "third", "second\nline", "first"}; !slices.Equal(got, want) {
			t.Errorf("history %q, want %q", got, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", dir.Mode(), err)
	}
}

func TestHistory_IsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h, other := openHistory(t, path), openHistory(t, path)
	for i := range 2100 {
		add(t, h, fmt.Sprint("message ", i))
	}
	data, err := os.ReadFile(path)
	if lines := strings.Count(string(data), "\n"); err != nil || lines > 2000 || h.Len() != 1000 {
		t.Errorf("%d lines in the file, %d messages, %v", lines, h.Len(), err)
	}
	if err := other.Refresh(); err != nil || other.Back(1).Text != "message 2099" || other.Back(1000).Text != "message 1100" {
		t.Errorf("another program has %q to %q, %v", other.Back(1000).Text, other.Back(1).Text, err)
	}
	big := strings.Repeat("x", 3<<20)
	add(t, h, "a"+big, "b"+big, "c"+big)
	if h.Len() != 2 || h.Back(2).Text[0] != 'b' {
		t.Errorf("%d messages after three of 3 MiB", h.Len())
	}
}

func TestHistory_SkipsWhatItCannotReadAndDoesNotReadALineTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	write := func(s string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	write("{\"text\":\"one\"}\nnonsense\n{\"text\":\"two\",\"folds\":[[2,9],[-1,5],[3,1]]}\n{\"text\":\"thr")
	h := openHistory(t, path)
	if h.Len() != 2 {
		t.Fatalf("%d messages", h.Len())
	}
	write("ee\"}\n")
	if err := h.Refresh(); err != nil || h.Len() != 3 || h.Back(1).Text != "three" {
		t.Errorf("%d messages, %v", h.Len(), err)
	}
	e := New(Options{History: h})
	press(t, e, "up", "up")
	if got := e.Message().Text; got != "two" {
		t.Errorf("the message with wrong folds is %q", got)
	}
}

func TestHistory_RecallsMessagesWithTheirFoldsAndReturnsToTheDraft(t *testing.T) {
	h := openHistory(t, filepath.Join(t.TempDir(), "history.jsonl"))
	e := New(Options{History: h})
	long := strings.Repeat("line\n", 300)
	press(t, e, "'look at ")
	e.Paste(long)
	if _, err := e.Take(); err != nil {
		t.Fatal(err)
	}
	press(t, e, "'second", "ctrl+j", "'line")
	if _, err := e.Take(); err != nil {
		t.Fatal(err)
	}
	press(t, e, "'draft", "up")
	if got := screen(e, 40, 5); got != "second|\nline" {
		t.Errorf("up shows %q", got)
	}
	press(t, e, "up")
	if got := screen(e, 40, 5); got != "look at [paste #1, 300 lines]|" {
		t.Errorf("up shows %q", got)
	}
	if got := e.Message().Text; got != "look at "+long {
		t.Errorf("the message is %.50q", got)
	}
	press(t, e, "up", "down", "down", "down")
	if got := e.result(); got != "draft|" {
		t.Errorf("down returns to %q", got)
	}
	press(t, e, "ctrl+p", "'!", "ctrl+_", "ctrl+_")
	if got := e.Message().Text; got != "draft" {
		t.Errorf("undo returns to %q", got)
	}
}

func TestHistorySearch_FindsAsTyped(t *testing.T) {
	h := openHistory(t, filepath.Join(t.TempDir(), "history.jsonl"))
	add(t, h, "Fix the parser", "run the tests", "fix the lexer\nsoon", "run the tests again", "fix the lexer\nsoon")
	e := New(Options{History: h})
	press(t, e, "'draft", "ctrl+r")
	if q, ok := e.Searching(); q != "" || !ok || len(e.Popup().Items) != 4 {
		t.Errorf("search for %q, %v: %q", q, ok, labels(e.Popup()))
	}
	press(t, e, "'fix")
	if got := labels(e.Popup()); !slices.Equal(got, []string{"fix the lexer …", "Fix the parser"}) {
		t.Errorf("fix finds %q", got)
	}
	press(t, e, "backspace", "backspace", "backspace", "'Fi")
	if got := labels(e.Popup()); !slices.Equal(got, []string{"Fix the parser"}) {
		t.Errorf("Fi finds %q", got)
	}
	press(t, e, "esc")
	if e.buf.text != "draft" || e.Popup() != nil {
		t.Errorf("esc leaves %q", e.buf.text)
	}
	press(t, e, "ctrl+r", "'fix", "ctrl+r", "enter")
	if _, searching := e.Searching(); e.buf.text != "Fix the parser" || searching {
		t.Errorf("enter makes %q", e.buf.text)
	}
	press(t, e, "ctrl+r", "'zzz", "enter")
	if e.buf.text != "Fix the parser" {
		t.Errorf("enter without a match makes %q", e.buf.text)
	}
}

func FuzzHistory_ReadsAnyFile(f *testing.F) {
	f.Add([]byte("{\"text\":\"a\\nb\",\"folds\":[[0,1]]}\n{}\nx\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "history.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		h := openHistory(t, path)
		e := New(Options{History: h})
		for n := 1; n <= h.Len(); n++ {
			press(t, e, "ctrl+p")
			if got, want := e.Message().Text, plain(h.Back(n).Text); got != want {
				t.Errorf("recalled %q, want %q", got, want)
			}
		}
	})
}
