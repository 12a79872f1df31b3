package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
)

// claude writes a Claude Code settings file.
func (w *world) claude(layer config.Layer, text string) {
	w.t.Helper()
	for _, f := range w.sources.ClaudeFiles() {
		if f.Layer != layer {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.t.Fatalf("there is no %s file of Claude Code", layer)
}

func newClaudeWorld(t *testing.T) *world {
	w := newWorld(t)
	w.env["HOME"] = t.TempDir()
	return w
}

const claudePermissions = `{"model": "opus", "hooks": {}, "permissions": {
	"allow": ["Bash(npm run test:*)", "Read(~/notes/**)"], "ask": ["Bash(git push *)"], "deny": ["Read(./.env)", "WebFetch", "mcp__github", "Task"]}}`

func TestClaude_PermissionsOfTheUserAndOfTrustedProjectsApply(t *testing.T) {
	for _, layer := range []config.Layer{config.LayerUser, config.LayerProject, config.LayerLocal} {
		w := newClaudeWorld(t)
		w.claude(layer, claudePermissions)
		s := w.load()
		for key, want := range map[string]string{
			"permissions.allow": "Bash(npm run test:*) Read(~/notes/**)", "permissions.ask": "Bash(git push *)", "permissions.deny": "Read(./.env) WebFetch mcp__github Task",
		} {
			e := entry(s, key)
			list, _ := e.Value.([]string)
			if got := strings.Join(list, " "); got != want {
				t.Errorf("%s of the %s: %q, want %q", key, layer, got, want)
			}
			for _, o := range e.Origins {
				if o.Layer != layer || !strings.HasPrefix(filepath.Base(o.Name), "settings") {
					t.Errorf("%s of the %s: the origin is %v", key, layer, o)
				}
			}
		}
		if len(s.Notes) > 0 {
			t.Errorf("%s: %v", layer, s.Notes)
		}
	}
}

func TestClaude_AnUntrustedProjectOnlyRestricts(t *testing.T) {
	for _, layer := range []config.Layer{config.LayerProject, config.LayerLocal} {
		w := newClaudeWorld(t)
		w.sources.Trusted = false
		w.claude(layer, claudePermissions)
		s := w.load()
		if len(s.Permissions.Allow) > 0 || len(s.Permissions.Deny) != 4 || len(s.Permissions.Ask) != 1 {
			t.Errorf("%s: %+v", layer, s.Permissions)
		}
		if got := notes(s); !strings.Contains(got, "permissions.allow is ignored: the project is not trusted") {
			t.Errorf("%s: the notes are %q", layer, got)
		}
	}
}

func TestClaude_RulesThatCannotBeUsedAreReported(t *testing.T) {
	w := newClaudeWorld(t)
	w.claude(config.LayerProject, `{"permissions": {"deny": ["Read(.env", "Agent(Explore)", "Skill(deploy *)", "Bash(make)@outside", 5, "Read(a)"], "ask": ["Edit(!x)"],
		"allow": ["Bash(git push:*)@outside"], "disableBypassPermissionsMode": "disable"}}`)
	s := w.load()
	if !slices.Equal(s.Permissions.Deny, []string{"Read(a)"}) || len(s.Permissions.Ask)+len(s.Permissions.Allow) > 0 {
		t.Errorf("the rules are %+v", s.Permissions)
	}
	got := notes(s)
	for _, want := range []string{
		"settings.json: permissions.deny Read(.env is ignored: invalid rule", "closing parenthesis is missing; Reins does not deny these calls\n",
		"permissions.deny Agent(Explore) is ignored: rules for Agent cannot have a pattern; Reins does not deny these calls\n", "permissions.deny Skill(deploy *) is ignored: ",
		"permissions.deny 5 is ignored: ", "permissions.ask Edit(!x) is ignored: ", "permissions.allow Bash(git push:*)@outside is ignored: ", "permissions.deny Bash(make)@outside is ignored: ",
		"permissions.disableBypassPermissionsMode is ignored: it is not supported",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestClaude_FilesThatCannotBeReadAreReported(t *testing.T) {
	for _, text := range []string{"{", `{"permissions": []}`, "[]", strings.Repeat(" ", 2<<20)} {
		w := newClaudeWorld(t)
		w.sources.Trusted = false
		w.claude(config.LayerProject, text)
		if got := notes(w.load()); !strings.Contains(got, "settings.json: permissions is ignored: ") || !strings.Contains(got, "its rules, also those that deny, do not apply") {
			t.Errorf("%.20q: the notes are %q", text, got)
		}
	}
	w := newClaudeWorld(t)
	w.claude(config.LayerProject, "")
	if got := notes(w.load()); got != "" {
		t.Errorf("an empty file: %q", got)
	}
	w.claude(config.LayerProject, `{"permissions": {"deny": "Read(a)"}}`)
	if got := notes(w.load()); !strings.Contains(got, "permissions.deny is ignored: it is not a list of rules") {
		t.Errorf("a string for a list: %q", got)
	}
}

func TestClaude_TheDefaultModeOnlyMakesTheModeStricter(t *testing.T) {
	for _, c := range []struct {
		layer     config.Layer
		untrusted bool
		user      string // mode in the user's own file
		mode      string
		want      string
		note      bool
	}{
		{config.LayerUser, false, "", "dontAsk", "dontAsk", false},
		{config.LayerUser, false, "", "default", "default", false},
		{config.LayerUser, false, "", "acceptEdits", "default", true},
		{config.LayerUser, false, "", "bypassPermissions", "default", true},
		{config.LayerUser, false, "", "plan", "default", true},
		{config.LayerUser, false, "", "yolo", "default", true},
		{config.LayerUser, false, "acceptEdits", "dontAsk", "acceptEdits", false}, // the user's own file overrides it
		{config.LayerProject, false, "acceptEdits", "default", "default", false},
		{config.LayerProject, false, "", "bypassPermissions", "default", true},
		{config.LayerProject, true, "acceptEdits", "default", "acceptEdits", true},
	} {
		w := newClaudeWorld(t)
		w.sources.Trusted = !c.untrusted
		if c.user != "" {
			w.write(config.LayerUser, "permissions.mode = \""+c.user+"\"\n")
		}
		w.claude(c.layer, `{"permissions": {"defaultMode": "`+c.mode+`"}}`)
		s := w.load()
		if s.Permissions.Mode != c.want || strings.Contains(notes(s), "permissions.defaultMode "+c.mode) != c.note {
			t.Errorf("%+v: the mode is %s, and the notes %q", c, s.Permissions.Mode, notes(s))
		}
	}
}

func TestClaude_OnlyTheUserAddsDirectories(t *testing.T) {
	w := newClaudeWorld(t)
	w.claude(config.LayerUser, `{"permissions": {"additionalDirectories": ["../docs", "~/x"]}}`)
	w.claude(config.LayerProject, `{"permissions": {"additionalDirectories": ["/"]}}`)
	s := w.load()
	if !slices.Equal(s.Permissions.AdditionalDirectories, []string{"../docs", "~/x"}) {
		t.Errorf("the directories are %q", s.Permissions.AdditionalDirectories)
	}
	if got := notes(s); !strings.Contains(got, "permissions.additionalDirectories is ignored: a project cannot set it") {
		t.Errorf("the notes are %q", got)
	}
}

func TestClaude_TheHomeDirectoryIsNotAProject(t *testing.T) {
	w := newClaudeWorld(t)
	w.sources.Dir, w.sources.Trusted = w.env["HOME"], false
	w.claude(config.LayerUser, claudePermissions)
	if s := w.load(); len(s.Permissions.Allow) != 2 || len(s.Notes) > 0 {
		t.Errorf("%+v, %v", s.Permissions, s.Notes)
	}
}

func TestClaude_ALinkOutOfTheProjectIsNotRead(t *testing.T) {
	w := newClaudeWorld(t)
	elsewhere := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(elsewhere, []byte(claudePermissions), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(w.sources.Dir, ".claude")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "settings.json")); err != nil {
		t.Fatal(err)
	}
	if s := w.load(); len(s.Permissions.Allow) > 0 || len(s.Notes) != 1 {
		t.Errorf("%+v, %v", s.Permissions, s.Notes)
	}
}
