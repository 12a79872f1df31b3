package config

import (
	"errors"
	"reflect"
	"testing"
)

// FuzzParse looks for files that make the parser or the editor panic, for projects that widen permissions, and for
// edits that change another key.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"base_url = \"x\"\nhooks = [{event = \"a\", command = \"b\"}]\n[permissions]\nmode = \"auto\"\nallow = [\"Bash\"]\n[sandbox]\nnetwork = true\n",
		"[providers.x]\nbase_url = \"http://y\"\nheaders = {A = \"b\"}\n[[providers.x.models]]\nid = \"m\"\ninput_price = 1\n", "providers.x.y = 1", "[[providers]]", "providers.\"\" = {}", "[providers.x.headers]\na = 1",
		"", "model = \"x\"", "[[hooks]]\n[hooks.x]", "hooks.event = 1", "a.b.c = [[{}]]", "permissions = {rule = [{tool = \"x\"}]}",
		"[permissions]\n[permissions.rule]\ntool = \"\"", "permissions.deny = [\n\"a\", # b\n]", "\"\" = 1", "[run]\nbudget = 1e400",
		"model = 2020-01-01", "hooks = [[]]", "[[permissions.rule]]\ndecision = \"allow\"\ntool = \"Bash\"\ncommand = \"sh\"\n", "# a\n\r\n[run]\r\nbudget = 5",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source := Origin{Layer: LayerProject, Name: "x.toml"}
		l, err := parse(source, []byte(text))
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Name != "x.toml" || at.Line < 1 || at.Column < 1 {
				t.Errorf("the error has no position: %v", err)
			}
			return
		}
		for _, trusted := range []bool{false, true} {
			checkProject(t, text, trusted)
		}
		checkEdits(t, l, text)
	})
}

// checkProject checks that a project file widens nothing.
func checkProject(t *testing.T, text string, trusted bool) {
	s, err := Load(Sources{Getenv: func(string) string { return "" }, SystemDir: "/nonexistent"})
	if err != nil {
		t.Fatal(err)
	}
	safe := s.Config
	l, err := parse(Origin{Layer: LayerProject, Name: "x.toml"}, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.restrict(l, trusted)
	s.apply(l)
	got := s.Config
	got.Permissions.Ask, got.Permissions.Deny, got.Permissions.Protected = nil, nil, nil
	if trusted {
		if got.Run.MaxRounds > 200 || got.Permissions.Mode != "default" && got.Permissions.Mode != "dontAsk" {
			t.Errorf("a trusted project sets %+v", got)
		}
		got.Provider, got.Model, got.Effort, got.Run, got.Permissions.Mode = "", "", "", safe.Run, safe.Permissions.Mode
		got.CacheTTL, got.ServiceTier, got.ThinkingDisplay = "", "", ""
	}
	if !reflect.DeepEqual(got, safe) {
		t.Errorf("trusted %v: the project sets %+v", trusted, got)
	}
}

// checkEdits checks that edits keep all other values.
func checkEdits(t *testing.T, l *layer, text string) {
	for key, value := range map[string]string{"effort": `"high"`, "run.budget": "2", "permissions.deny": `"x"`} {
		k, err := findField(key)
		if err != nil {
			t.Fatal(err)
		}
		after, err := File{Layer: LayerProject, Path: "x.toml"}.edited(k, []byte(text), value, k.isList())
		if err != nil {
			continue // the editor refuses keys that it cannot change
		}
		got, err := parse(l.source, after)
		if err != nil {
			t.Errorf("after setting %s: %v in\n%s", key, err, after)
			continue
		}
		for _, other := range fields {
			if other.key != key && !reflect.DeepEqual(other.in(&got.config).Interface(), other.in(&l.config).Interface()) {
				t.Errorf("setting %s changed %s:\n%s", key, other.key, after)
			}
		}
	}
}
