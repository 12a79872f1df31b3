package local

import (
	"maps"
	"slices"
	"testing"
)

func TestInherit_Policies(t *testing.T) {
	for _, tt := range []struct {
		name                string
		filtered, all, core bool
	}{
		{"PATH", true, true, true},
		{"HOME", true, true, true},
		{"GOPATH", true, true, true},
		{"CARGO_HOME", true, true, true},
		{"NVM_DIR", true, true, true},
		{"LC_ALL", true, true, true},
		{"Path", true, true, true},
		{"EDITOR_THEME", true, true, false},
		{"SSH_AUTH_SOCK", true, true, false},
		{"KEYBOARD", true, true, false},
		{"TOKENIZER", true, true, false},
		{"OPENAI_API_KEY", false, true, false},
		{"openai_api_key", false, true, false},
		{"Client_Secret", false, true, false},
		{"GITHUB_TOKEN", false, true, false},
		{"DB_PASSWORD", false, true, false},
		{"AWS_CREDENTIAL", false, true, false},
		{"GOOGLE_APPLICATION_CREDENTIALS", false, true, false},
		{"AWS_SECRET_ACCESS_KEY", false, true, false},
		{"PASSWORD", false, true, false},
		{"TOKEN", false, true, false},
	} {
		got := []bool{InheritFiltered.inherits(tt.name), InheritAll.inherits(tt.name), InheritCore.inherits(tt.name), InheritNone.inherits(tt.name)}
		if want := []bool{tt.filtered, tt.all, tt.core, false}; !slices.Equal(got, want) {
			t.Errorf("%s: filtered, all, core, none are %v, want %v", tt.name, got, want)
		}
	}
}

func TestVars_ExplicitWinsOverQuietOverInherited(t *testing.T) {
	host := []string{"PAGER=less", "GIT_EDITOR=vi", "A=host", "X_TOKEN=secret", markerName + "=outer.1;", "=C:=hidden"}
	vars := baseVars(Config{Vars: map[string]string{"GIT_EDITOR": "mine", "X_TOKEN": "given"}}, host)
	for name, want := range map[string]string{"PAGER": "cat", "GIT_EDITOR": "mine", "A": "host", "X_TOKEN": "given", "GIT_SEQUENCE_EDITOR": "false"} {
		if vars[name] != want {
			t.Errorf("%s is %q, want %q", name, vars[name], want)
		}
	}
	if _, ok := vars[markerName]; ok {
		t.Error("the marker was passed on unchanged")
	}
	if vars = baseVars(Config{Inherit: InheritNone}, host); !maps.Equal(vars, quiet) {
		t.Errorf("with InheritNone: %v", vars)
	}
}

func TestEnvironment_MarksNestAndCommandWins(t *testing.T) {
	e := &Env{state: &state{outerMark: "outer.1;", vars: []string{"A=1", "B=2"}}}
	got := e.environment(map[string]string{"B": "3", markerName: "forged"}, "me.7;")
	if want := []string{markerName + "=outer.1;me.7;", "A=1", "B=3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
