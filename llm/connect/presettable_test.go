package connect

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestPresets_FileIsComplete(t *testing.T) {
	protocols := []string{chatAPI, responses, messages, geminiAPI}
	taken := map[string]bool{}
	for _, p := range presets() {
		for _, name := range append([]string{p.name}, p.aliases...) {
			if taken[name] {
				t.Errorf("two presets have the name %s", name)
			}
			taken[name] = true
		}
		if !slices.Contains(protocols, p.speaks) || !strings.HasPrefix(p.base, "http") || len(p.keys) == 0 {
			t.Errorf("%s has the protocol %q, the URL %q and the keys %q", p.name, p.speaks, p.base, p.keys)
		}
		for _, r := range p.routes {
			if !slices.Contains(protocols, r.speaks) || !strings.HasPrefix(r.base, "https://") {
				t.Errorf("%s has the route %+v", p.name, r)
			}
		}
	}
	if len(presets()) < 130 {
		t.Errorf("got only %d presets", len(presets()))
	}
	for i, line := range strings.Split(presetsText, "\n") {
		if len(line) > 140 || strings.Contains(line, "\t") {
			t.Errorf("presets.txt:%d has more than 140 columns or a tab: %s", i+1, line)
		}
	}
}

func TestPresets_AllSettingsAreRead(t *testing.T) {
	p := readPresets(`
# a comment
acme chat https://acme.test/v1 ACME_KEY OTHER_KEY
    alias a b
    key THIRD_KEY
    model m
    like zai
    trim x-
    session X-Session
    header X-Poll: 3600
    auth bearer
    optional
    route claude- messages https://acme.test/anthropic
    route gpt- responses https://acme.test/openai bearer
plain messages https://plain.test PLAIN_KEY
`)
	if len(p) != 2 || p[1].name != "plain" || p[1].optional {
		t.Fatalf("got %+v", p)
	}
	want := preset{
		name:     "acme",
		aliases:  []string{"a", "b"},
		speaks:   chatAPI,
		base:     "https://acme.test/v1",
		keys:     []string{"ACME_KEY", "OTHER_KEY", "THIRD_KEY"},
		model:    "m",
		like:     "zai",
		trim:     "x-",
		session:  "X-Session",
		header:   "X-Poll: 3600",
		auth:     bearer,
		optional: true,
		routes: []route{
			{"claude-", messages, "https://acme.test/anthropic", ""},
			{"gpt-", responses, "https://acme.test/openai", bearer},
		},
	}
	if !reflect.DeepEqual(p[0], want) {
		t.Errorf("got %+v, want %+v", p[0], want)
	}
}
