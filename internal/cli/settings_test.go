package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/llm/connect"
)

func load(flags ...config.Override) (*config.Settings, error) {
	return config.Load(config.Sources{Flags: flags, Getenv: func(string) string { return "" }, SystemDir: "nowhere"})
}

// TestSettings_FlagsAndKeysAgree checks that every flag exists and has the default of its key.
func TestSettings_FlagsAndKeysAgree(t *testing.T) {
	flags := newRun(Host{}).Flags()
	s, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range flagKeys {
		f := flags.Lookup(name)
		e, err := s.Get(key)
		if f == nil || err != nil {
			t.Errorf("--%s and %s: %v, %v", name, key, f, err)
		} else if got := fmt.Sprint(e.Value); got != f.DefValue {
			t.Errorf("%s defaults to %q, --%s to %q", key, got, name, f.DefValue)
		}
	}
}

// TestSettings_KnowAllProviders checks that the configuration accepts what connect does.
func TestSettings_KnowAllProviders(t *testing.T) {
	for _, name := range append(connect.Names(), "chatgpt", "openrouter", "kimi-for-coding", "moonshotai", "google") {
		if _, err := load(config.Override{Key: "provider", Value: name, Name: "--provider"}); err != nil {
			t.Error(err)
		}
	}
	_, err := load(config.Override{Key: "provider", Value: "x", Name: "--provider"})
	names := append(connect.Names(), "chatgpt")
	last := len(names) - 1
	if want := "use " + strings.Join(names[:last], ", ") + " or " + names[last] + `, or one that "reins providers list" shows`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err = load(config.Override{Key: "provider", Value: "openruoter", Name: "--provider"}); err == nil || !strings.HasSuffix(err.Error(), "did you mean openrouter?") {
		t.Errorf("got %v, want a suggestion", err)
	}
}
