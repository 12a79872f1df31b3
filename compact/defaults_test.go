package compact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestMeter_Defaults(t *testing.T) {
	var m Meter
	for _, c := range []struct {
		part llm.Part
		want int64
	}{
		{llm.Text{Text: strings.Repeat("x", 388)}, 100}, // 4 bytes per token, and 12 bytes for the message
		{pixel, 1503},
		{llm.Audio{Media: llm.Media{Data: make([]byte, 1_000_000)}}, 2003},
		{llm.Document{Media: llm.Media{Data: make([]byte, 50_000)}}, 2003},
	} {
		if got := m.Weigh(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{c.part}}); got != c.want {
			t.Errorf("%T: got %d tokens, want %d", c.part, got, c.want)
		}
	}
}

func TestFacts_WithFilesKeepsTheLast200(t *testing.T) {
	f := Facts{Files: []string{"first", "second"}}
	for i := range 199 {
		f = f.WithFiles(fmt.Sprint(i))
	}
	f = f.WithFiles("5")
	if n := len(f.Files); n != 200 || f.Files[0] != "second" || f.Files[199] != "5" {
		t.Errorf("got %d files from %s to %s, want 200 from second to 5", n, f.Files[0], f.Files[n-1])
	}
}

func TestFallback_KeepsAtMost20000TokensFromOlderUserMessages(t *testing.T) {
	var m Meter
	var msgs []llm.Message
	for i := range 100 {
		msgs = append(msgs, llm.UserText(strings.Repeat("word", 997))) // 1000 tokens
		msgs = append(msgs, step(i, 40_000)...)
	}
	msgs = append(msgs, llm.UserText("continue"))
	e, ok := Fallback(m, msgs, Goal{Tokens: 100_000}, Facts{})
	if !ok || e.Replaced == 0 {
		t.Fatalf("got %v and an edit that replaces %d messages, want some replaced", ok, e.Replaced)
	}
	whole := 0
	for _, msg := range e.Messages {
		if m.Weigh(msg) == 1000 && !isSummary(msg) {
			whole++
		}
	}
	if whole != 20 {
		t.Errorf("%d user messages of 1000 tokens are unchanged, want 20", whole)
	}
}

func TestPrepare_AsksForAtMost4000Words(t *testing.T) {
	var m Meter
	msgs := work(100, 40_000)
	for tokens, want := range map[int64]string{200_000: "Use at most 4000 words.", 0: "Use at most 200 words."} {
		s, ok := Prepare(m, msgs, Goal{Tokens: tokens})
		if !ok {
			t.Fatalf("nothing to summarise for %d tokens", tokens)
		}
		prompt := s.Messages[len(s.Messages)-1].Text()
		if !strings.HasSuffix(prompt, want) {
			t.Errorf("for %d tokens the prompt ends with %q, want %q", tokens, prompt[len(prompt)-30:], want)
		}
	}
}

func TestWithout_RemovesTheRefusedItem(t *testing.T) {
	call := llm.ToolCall{ID: "1", Name: "look", Arguments: `{"a":1}`}
	result := llm.TextResult(call, "text", false)
	result.Parts = append(result.Parts, pixel)
	text := llm.Text{Text: "x"}
	for name, c := range map[string]struct {
		parts []llm.Part
		at    llm.Item
		what  string
	}{
		"the named part":       {[]llm.Part{text, pixel}, llm.Item{Part: 0}, "a text"},
		"media if none is":     {[]llm.Part{pixel, text}, llm.Item{Part: -1}, "an image"},
		"media in a result":    {[]llm.Part{result}, llm.Item{Part: 0, Inner: -1}, "an image"},
		"a result":             {[]llm.Part{llm.TextResult(call, "x", false)}, llm.Item{Part: 0, Inner: -1}, "a tool result"},
		"arguments":            {[]llm.Part{call}, llm.Item{Part: 0}, "the arguments of a tool call"},
		"thinking before text": {[]llm.Part{llm.Thinking{Text: "hm"}, text}, llm.Item{Part: -1}, "a thinking block"},
		"an opaque item":       {[]llm.Part{llm.Opaque{Kind: "search"}}, llm.Item{Part: -1}, "an item of kind search"},
		"nothing":              {nil, llm.Item{Part: -1}, ""},
	} {
		before := llm.Message{Role: llm.RoleUser, Parts: c.parts}
		after, what := Without(before, c.at)
		if what != c.what {
			t.Errorf("%s: got %q, want %q", name, what, c.what)
		}
		if what == "" {
			continue
		}
		if partsLoad(after.Parts) == (load{}) {
			t.Errorf("%s: the message is empty", name)
		}
		// What was removed is not removed again, so a provider that refuses it again ends the attempts.
		for range len(c.parts) + 2 {
			after, what = Without(after, c.at)
		}
		if what != "" {
			t.Errorf("%s: there is always %q to remove", name, what)
		}
	}
	if _, what := Without(llm.SystemText("x"), llm.Item{}); what != "" {
		t.Errorf("system message: got %q, want nothing removed", what)
	}
}
