package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
)

func TestNetwork_IsTrueFalseOrAListOfHosts(t *testing.T) {
	for text, want := range map[string]struct {
		all   bool
		hosts []string
		json  string
	}{
		`true`:                                 {true, nil, `true`},
		`false`:                                {false, nil, `false`},
		`[]`:                                   {false, nil, `false`},
		`["github.com"]`:                       {false, []string{"github.com"}, `["github.com"]`},
		`["*.npmjs.org", "a.org:1", "::1"]`:    {false, []string{"*.npmjs.org", "a.org:1", "::1"}, `["*.npmjs.org","a.org:1","::1"]`},
		"[\n \"a.org\", # why\n \"b.org\",\n]": {false, []string{"a.org", "b.org"}, `["a.org","b.org"]`},
	} {
		w := newWorld(t)
		w.write(config.LayerUser, "[sandbox]\nnetwork = "+text+"\n")
		n := w.load().Sandbox.Network
		if n.All() != want.all || !slices.Equal(n.Hosts(), want.hosts) {
			t.Errorf("%s: got all %v, hosts %q", text, n.All(), n.Hosts())
		}
		if got, err := json.Marshal(n); err != nil || string(got) != want.json {
			t.Errorf("%s as JSON: got %s, %v, want %s", text, got, err, want.json)
		}
	}
}

// A higher layer replaces the list: a flag with one host permits no others.
func TestNetwork_FlagReplacesTheFile(t *testing.T) {
	for flag, want := range map[string]string{"true": "true", "false": "false", "b.org, *.c.org": "b.org,*.c.org", `["d.org"]`: "d.org"} {
		w := newWorld(t)
		w.write(config.LayerUser, "[sandbox]\nnetwork = [\"a.org\"]\n")
		w.sources.Flags = []config.Override{{Key: "sandbox.network", Value: flag, Name: "--network"}}
		if got := w.load().Sandbox.Network.String(); got != want {
			t.Errorf("--network %s: got %s, want %s", flag, got, want)
		}
	}
}

func TestNetwork_CanBeSetInAFile(t *testing.T) {
	f := config.File{Layer: config.LayerUser, Path: filepath.Join(t.TempDir(), "config.toml")}
	for _, c := range []struct{ value, want string }{
		{"github.com,*.npmjs.org", "network = [\"github.com\", \"*.npmjs.org\"]"}, {"true", "network = true"}, {`["a.org"]`, "network = [\"a.org\"]"},
	} {
		if err := f.Set("sandbox.network", c.value); err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(f.Path); !strings.Contains(string(data), c.want) {
			t.Errorf("%s: the file is\n%s", c.value, data)
		}
	}
	if err := f.Set("sandbox.network", "https://a.org"); err == nil || !strings.Contains(err.Error(), "is not a host") {
		t.Errorf("a URL: %v", err)
	}
}

// A list permits only the hosts that it names, even if the only name looks like a switch.
func TestNetwork_ListIsNeverEverything(t *testing.T) {
	for _, text := range []string{`["true"]`, `[true]`, `[""]`} {
		w := newWorld(t)
		w.write(config.LayerUser, "[sandbox]\nnetwork = "+text+"\n")
		if s, err := config.Load(w.sources); err == nil {
			t.Errorf("%s is permitted as %q, want an error", text, s.Sandbox.Network)
		}
	}
}
