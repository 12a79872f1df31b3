package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

func TestPolicy_HasTheModeAndTheRules(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerUser, `[permissions]
mode = "plan"
allow = ["Read(src/**)"]
ask = ["mcp__server"]
deny = ["Bash(git push:*)"]
[[permissions.rule]]
decision = "allow"
tool = "Bash"
command = "git commit:*"
[[permissions.rule]]
decision = "deny"
tool = "WebFetch"
domain = "x.example"
`)
	mode, p, err := w.load().Policy()
	if err != nil || mode != policy.ModePlan {
		t.Errorf("mode %q (%v), want plan", mode, err)
	}
	for _, c := range []struct {
		name string
		got  []rules.Rule
		want []string
	}{
		{"allow", p.Allow, []string{"Read(src/**)", "Bash(git commit:*)"}},
		{"ask", p.Ask, []string{"mcp__server"}},
		{"deny", p.Deny, []string{"Bash(git push:*)", "WebFetch(domain:x.example)"}},
	} {
		var got []string
		for _, r := range c.got {
			got = append(got, r.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPolicy_OnlyRulesThatAllowSayWhereCommandsRun(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerUser, "[permissions]\nallow = [\"Bash(git push:*)@outside\"]\n")
	if _, rules, err := w.load().Policy(); err != nil || len(rules.Allow) != 1 || rules.Allow[0].Box() != policy.BoxOutside {
		t.Errorf("got %v (%v)", rules, err)
	}
	for _, list := range []string{"ask", "deny"} {
		w.write(config.LayerUser, "[permissions]\n"+list+" = [\"Bash(git push:*)@outside\"]\n")
		if _, err := config.Load(w.sources); err == nil || !strings.Contains(err.Error(), "only a rule that allows") {
			t.Errorf("%s: got %v", list, err)
		}
	}
}

// TestPolicy_KnowsAllModes checks that the configuration accepts exactly the modes of package policy.
func TestPolicy_KnowsAllModes(t *testing.T) {
	for _, mode := range policy.Modes {
		w := newWorld(t)
		w.env["REINS_MODE"] = string(mode)
		if got, _, err := w.load().Policy(); err != nil || got != mode {
			t.Errorf("%s: %s (%v)", mode, got, err)
		}
	}
	if enum := config.Modes(); len(enum) != len(policy.Modes) {
		t.Errorf("the configuration has the modes %v, package policy %v", enum, policy.Modes)
	}
}

func TestPaths_AreAbsoluteAndReal(t *testing.T) {
	w := newWorld(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.env["HOME"] = home
	w.sources.Dir, err = filepath.EvalSymlinks(w.sources.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(home, "link")); err != nil {
		t.Skip(err)
	}
	w.write(config.LayerUser, "[permissions]\nadditional_directories = [\"~/link\", \"../beside\"]\nprotected = [\"go.sum\", \"~/link/missing/x\", \"~x\", \"~\"]\n")
	additional, protected := w.load().Paths()
	if want := []string{filepath.Join(home, "real"), filepath.Join(filepath.Dir(w.sources.Dir), "beside")}; !slices.Equal(additional, want) {
		t.Errorf("additional directories %v, want %v", additional, want)
	}
	want := []string{filepath.Join(w.sources.Dir, "go.sum"), filepath.Join(home, "real", "missing", "x"), filepath.Join(w.sources.Dir, "~x"), home}
	if !slices.Equal(protected, want) {
		t.Errorf("protected %v, want %v", protected, want)
	}
}

// TestRules_OnlyThoseOfTheUserLiftWhatIsNeverRight covers allow rules in a trusted project's Claude Code settings.
func TestRules_OnlyThoseOfTheUserLiftWhatIsNeverRight(t *testing.T) {
	const text = `{"permissions": {"allow": ["Bash(ls)", "Read(~/.ssh/id_rsa)"]}}`
	for layer, lifts := range map[config.Layer]bool{config.LayerUser: true, config.LayerProject: false, config.LayerLocal: false} {
		w := newClaudeWorld(t)
		w.claude(layer, text)
		w.write(config.LayerUser, "[permissions]\nallow = [\"Bash(pwd)\"]\n")
		_, rules, err := w.load().Policy()
		if err != nil {
			t.Fatal(err)
		}
		d := rules.Decide(t.Context(), policy.Query{
			Tool:      "read_file",
			Accesses:  []policy.Access{{Kind: policy.Read, Target: "/home/me/.ssh/id_rsa"}},
			Workspace: policy.Workspace{Dir: "/home/me/project", Home: "/home/me"},
		})
		if (d.Code != policy.Never) != lifts {
			t.Errorf("a rule of the %s: got %+v, want it to lift the denial: %v", layer, d, lifts)
		}
	}
}
