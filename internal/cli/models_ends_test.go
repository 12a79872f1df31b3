package cli

import (
	"strings"
	"testing"
	"time"
)

// newVendor returns a machine with a key for Anthropic, on a day.
func newVendor(t *testing.T, day string) *machine {
	t.Helper()
	server := newModelServer()
	t.Cleanup(server.Close)
	m := newMachine(t)
	m.env["ANTHROPIC_API_KEY"], m.env["ANTHROPIC_BASE_URL"] = canary, server.BaseURL("anthropic")
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	m.host.now = func() time.Time { return at }
	return m
}

func TestModels_AliasesAreResolvedAndShownOnce(t *testing.T) {
	m := newVendor(t, "2026-11-18")
	for _, args := range [][]string{
		{"ask", "--model", "opus", "hi"},
		{"ask", "--provider", "anthropic", "--model", "opus", "hi"},
		{"run", "--model", "opus", "hi"},
	} {
		_, side := m.reins(0, args...)
		if n := strings.Count(side, "reins: opus is claude-opus-5-5\n"); n != 1 {
			t.Errorf("reins %v tells the model %d times, want once:\n%s", args, n, side)
		}
	}
	_, side := m.reins(0, "run", "--continue", "again") // the session has the model, not the alias
	if strings.Contains(side, " is claude-") {
		t.Errorf("a continued session has an alias:\n%s", side)
	}
	out, side := m.reins(0, "run", "--model", "fable", "--fallback", "haiku", "--output", "json", "hi")
	m.says(side, "fable is claude-fable-5-2", "haiku is claude-haiku-5-5")
	m.says(out, `"model":"claude-fable-5-2"`)
	if strings.Contains(side, "unknown") {
		t.Errorf("an alias is taken for an unknown model:\n%s", side)
	}
}

// The model on the command line wins over the provider in the configuration.
func TestModels_AnAliasChoosesTheProvider(t *testing.T) {
	m := newVendor(t, "2026-11-18")
	m.configure(`provider = "openai"`)
	_, side := m.reins(0, "ask", "--model", "sonnet", "hi")
	m.says(side, "sonnet is claude-sonnet-5-5")
}

func TestModels_RunsWarnOnceBeforeAModelEnds(t *testing.T) {
	for _, tt := range []struct{ day, model, want string }{
		{"2026-09-30", "claude-sonnet-4-5", ""},
		{"2026-10-01", "claude-sonnet-4-5", "reins: claude-sonnet-4-5 ends on 2026-11-30; use claude-sonnet-5-5\n"},
		{"2026-11-29", "claude-sonnet-4-5-20250929", "reins: claude-sonnet-4-5 ends on 2026-11-30; use claude-sonnet-5-5\n"},
		{"2026-11-30", "claude-sonnet-4-5", "reins: claude-sonnet-4-5 ended on 2026-11-30 and may not answer; use claude-sonnet-5-5\n"},
		{"2026-11-18", "claude-opus-4-1", "reins: claude-opus-4-1 is retired and may not answer; use claude-opus-5-5\n"},
		{"2026-11-18", "claude-opus-5-5", ""},
	} {
		m := newVendor(t, tt.day)
		_, side := m.reins(0, "run", "--model", tt.model, "hi")
		if tt.want == "" {
			if strings.Contains(side, "end") {
				t.Errorf("%s on %s: it warns:\n%s", tt.model, tt.day, side)
			}
		} else if strings.Count(side, tt.want) != 1 {
			t.Errorf("%s on %s: it does not say once %q:\n%s", tt.model, tt.day, tt.want, side)
		}
	}
	m := newVendor(t, "2026-11-18")
	_, side := m.reins(0, "run", "--fallback", "claude-sonnet-4-5", "hi")
	m.says(side, "claude-sonnet-4-5 ends on 2026-11-30")
}

func TestModels_TheListShowsEndsAndThePriceOfTheDay(t *testing.T) {
	m := newVendor(t, "2026-11-18")
	line := func(id string) string {
		out, _ := m.reins(0, "models", "--all", id)
		for l := range strings.Lines(out) {
			if fields := strings.Fields(l); len(fields) > 1 && fields[1] == id {
				return strings.Join(fields[2:], " ")
			}
		}
		return ""
	}
	for id, want := range map[string]string{
		"gpt-4":             "8k 8k 30 60 - - - retired",
		"claude-sonnet-4-5": "200k 64k 3 15 0.3 3.75 none low medium high ends 2026-11-30",
		"claude-sonnet-5-5": "1M 128k 2 10 0.1 2.5 low medium high xhigh max -",
		"gemini-4-argon":    "1.05M 32k 2 10 0.1 - low medium high -",
	} {
		if got := line(id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	m.host.now = func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }
	if got, want := line("gemini-4-argon"), "1.05M 32k 4 20 0.2 - low medium high -"; got != want {
		t.Errorf("in December: got %q, want %q", got, want)
	}
	out, _ := m.reins(0, "models", "--provider", "anthropic")
	if strings.Contains(out, "claude-sonnet-4-5") {
		t.Errorf("a model that has ended is listed without --all:\n%s", out)
	}
}
