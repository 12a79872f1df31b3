package localtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// task is the prompt in the tests. The models follow their scripts.
const task = "Change the greeting to goodbye."

func TestLoop_ReadsAndEditsAFile(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		dir, file := project(t)
		args := append([]string{"run", "--yes", "--profile", "generic", "--output", "stream-json"}, p.flags(shared, "edit")...)
		out := runReins(t, dir, append(args, task)...)
		events, result := out.records(t)
		if result.Outcome != "done" || out.code != 0 || result.Text != "The greeting is now goodbye." {
			t.Errorf("got outcome %q, code %d and text %q", result.Outcome, out.code, result.Text)
		}
		if result.Turns != 3 || result.Rounds != 2 {
			t.Errorf("got %d turns and %d rounds, want 3 and 2", result.Turns, result.Rounds)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != "goodbye, world\n" {
			t.Errorf("the file has %q, %v", data, err)
		}
		for kind, least := range map[string]int{"TOOL_CALL_END": 2, "ASSISTANT_TEXT_DELTA": 8, "REASONING_DELTA": 4} {
			if n := number(events, kind); n < least {
				t.Errorf("got %d events %s, want at least %d", n, kind, least)
			}
		}
		if number(events, "WARNING") > 0 || number(events, "ERROR") > 0 || number(events, "MODEL_RETRY") > 0 {
			t.Errorf("the run had problems:\n%s", out.stdout)
		}
		// The prompt and the tools have about 4,000 tokens, and each answer about 20.
		if result.Usage.Input < 6000 || result.Usage.Output < 30 || result.Usage.Output > 300 {
			t.Errorf("got usage %+v", result.Usage)
		}
	})
}

func TestLoop_RunsSeveralCallsInOneAnswer(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		dir, _ := project(t)
		if err := os.WriteFile(filepath.Join(dir, "other.txt"), []byte("another file\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"run", "--output", "stream-json"}, p.flags(shared, "two")...)
		events, result := runReins(t, dir, append(args, "Read both files.")...).records(t)
		if result.Outcome != "done" || result.Rounds != 1 || result.Text != "Both have been read." {
			t.Errorf("got outcome %q after %d rounds, with text %q", result.Outcome, result.Rounds, result.Text)
		}
		outputs := ""
		for _, e := range events {
			if e.Kind == "TOOL_CALL_END" {
				outputs += string(e.Data)
			}
		}
		if !strings.Contains(outputs, "hello, world") || !strings.Contains(outputs, "another file") {
			t.Errorf("the results are not those of both files: %s", outputs)
		}
	})
}

func TestUsage_IsTheSameWithAllProtocols(t *testing.T) {
	var want usage
	eachProtocol(t, func(t *testing.T, p protocol) {
		got := runReins(t, t.TempDir(), append(append([]string{"ask", "--json"}, p.flags(shared, "think")...), "What is two and two?")...).answer(t)
		if got.Text != "It is four." || strings.TrimSpace(got.Thinking) != "Two and two. Let me see." {
			t.Errorf("got text %q and thinking %q", got.Text, got.Thinking)
		}
		if want == (usage{}) {
			want = got.Usage
		}
		if got.Usage != want || got.Usage.Input < 10 || got.Usage.Output < 5 {
			t.Errorf("got usage %+v, want %+v", got.Usage, want)
		}
	})
}

func TestAsk_StreamsText(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		args := append([]string{"ask", "--stream"}, p.flags(shared, "text")...)
		out := runReins(t, t.TempDir(), append(args, "Hello?")...)
		if strings.TrimSpace(out.stdout) != greeting || out.code != 0 {
			t.Errorf("got %q, code %d", out.stdout, out.code)
		}
		whole := slices.DeleteFunc(args, func(a string) bool { return a == "--stream" })
		if out := runReins(t, t.TempDir(), append(whole, "Hello?")...); strings.TrimSpace(out.stdout) != greeting {
			t.Errorf("without --stream got %q, code %d", out.stdout, out.code)
		}
	})
}
