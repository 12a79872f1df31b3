package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/config"
)

func TestSet_KeepsCommentsAndOrder(t *testing.T) {
	const file = `# My settings.

provider = "openai" # the usual one
model = 'gpt-5.2'

# What needs no question.
[permissions]
allow = [
  "Bash(go test:*)", # tests
  "Read(src/**)"     # sources
]
mode = "default"

[[permissions.rule]]
decision = "deny"
tool = "Read"
path = ".env"

[run]
budget = 1
`
	for _, c := range []struct{ name, key, value, old, new string }{
		{"a string", "provider", "anthropic", `"openai" # the`, `"anthropic" # the`},
		{"another quote", "model", `a"b\c`, `'gpt-5.2'`, `'a"b\c'`},
		{"a key of a section", "permissions.mode", "plan", `mode = "default"`, `mode = "plan"`},
		{"a number", "run.budget", "2.5", "budget = 1", "budget = 2.5"},
		{"a new key at the top", "effort", "high", "model = 'gpt-5.2'\n", "model = 'gpt-5.2'\neffort = \"high\"\n"},
		{"a new key in a section", "run.max_turns", "9", "budget = 1\n", "budget = 1\nmax_turns = 9\n"},
		{"a new key in a section with a list", "permissions.protected", `["a", "b"]`, "mode = \"default\"\n", "mode = \"default\"\nprotected = [\"a\", \"b\"]\n"},
		{"a new section", "environment.pass", "GH_TOKEN", "budget = 1\n", "budget = 1\n\n[environment]\npass = [\"GH_TOKEN\"]\n"},
	} {
		w := newWorld(t)
		w.write(config.LayerUser, file)
		if err := w.file(config.LayerUser).Set(c.key, c.value); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := strings.Replace(file, c.old, c.new, 1)
		if diff := cmp.Diff(want, w.content(config.LayerUser)); diff != "" || want == file {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		w.load()
	}
}

// content returns a layer's file content.
func (w *world) content(layer config.Layer) string {
	w.t.Helper()
	b, err := os.ReadFile(w.files[layer])
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func TestSet_Forms(t *testing.T) {
	for _, c := range []struct{ name, file, key, value, want string }{
		{"no file", "", "model", "m", "model = \"m\"\n"},
		{"no file, a section", "", "run.budget", "1", "[run]\nbudget = 1\n"},
		{"no newline at the end", "model = \"a\"", "effort", "low", "model = \"a\"\neffort = \"low\"\n"},
		{"only a comment", "# mine", "model", "m", "# mine\nmodel = \"m\"\n"},
		{"a comment, then a section", "# mine\n\n[run]\nbudget = 1\n", "model", "m", "# mine\nmodel = \"m\"\n\n[run]\nbudget = 1\n"},
		{"the comment of a section", "# limits\n[run]\nbudget = 1\n", "model", "m", "model = \"m\"\n\n# limits\n[run]\nbudget = 1\n"},
		{"dotted keys", "permissions.mode = \"plan\"\nmodel = \"a\"\n", "permissions.ask", "Bash", "permissions.mode = \"plan\"\npermissions.ask = [\"Bash\"]\nmodel = \"a\"\n"},
		{"CRLF", "model = \"a\"\r\n[run]\r\nbudget = 1\r\n", "effort", "low", "model = \"a\"\r\neffort = \"low\"\r\n[run]\r\nbudget = 1\r\n"},
		{"an empty section", "[run]\n[permissions]\n", "run.budget", "1", "[run]\nbudget = 1\n[permissions]\n"},
		{"the same value", "model = \"a\" # x\n", "model", "a", "model = \"a\" # x\n"},
		{"a multi-line string", "model = \"\"\"\na\"\"\"\neffort = \"low\"\n", "model", "b", "model = \"b\"\neffort = \"low\"\n"},
		{"a list of tables", "", "hooks", `[{event = "Stop", command = "c"}]`, "hooks = [{event = \"Stop\", command = \"c\"}]\n"},
	} {
		w := newWorld(t)
		if c.file != "" {
			w.write(config.LayerUser, c.file)
		}
		if err := w.file(config.LayerUser).Set(c.key, c.value); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := w.content(config.LayerUser); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestAdd_KeepsComments(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"no list", "", "[permissions]\ndeny = [\"new\"]\n"},
		{"an empty list", "permissions.deny = []\n", "permissions.deny = [\"new\"]\n"},
		{"one line", "permissions.deny = [\"a\"] # x\n", "permissions.deny = [\"a\", \"new\"] # x\n"},
		{"one line with a comma", "permissions.deny = [ \"a\", ]\n", "permissions.deny = [ \"a\", \"new\", ]\n"},
		{"lines", "permissions.deny = [\n  \"a\", # why, really\n]\n", "permissions.deny = [\n  \"a\", # why, really\n  \"new\",\n]\n"},
		{"lines without a comma", "permissions.deny = [\n\t\"a\" # why, really\n]\n", "permissions.deny = [\n\t\"a\", # why, really\n\t\"new\",\n]\n"},
		{"lines and a comment at the end", "permissions.deny = [\n  \"a\",\n  # b, c\n]\n", "permissions.deny = [\n  \"a\",\n  # b, c\n  \"new\",\n]\n"},
		{"already there", "permissions.deny = ['new']\n", "permissions.deny = ['new']\n"},
	} {
		w := newWorld(t)
		if c.file != "" {
			w.write(config.LayerUser, c.file)
		}
		if err := w.file(config.LayerUser).Add("permissions.deny", "new"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := w.content(config.LayerUser); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	if err := newWorld(t).file(config.LayerUser).Add("model", "x"); err == nil || !strings.Contains(err.Error(), "model is not a list of strings") {
		t.Errorf("adding to a string: %v", err)
	}
}

func TestRemove_KeepsEverythingElse(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"the only one", "model = \"m\"\n[permissions]\ndeny = [\"old\"] # x\nask = [\"b\"]\n", "model = \"m\"\n[permissions]\nask = [\"b\"]\n"},
		{"the only one, over lines", "permissions.deny = [\n  'old', # why\n]\nmodel = 'm'\n", "model = 'm'\n"},
		{"first", "permissions.deny = [\"old\", \"a\"] # x\n", "permissions.deny = [\"a\"] # x\n"},
		{"middle", "permissions.deny = [\"a\", \"old\", \"b\"]\n", "permissions.deny = [\"a\", \"b\"]\n"},
		{"last", "permissions.deny = [\"a\", \"old\"]\n", "permissions.deny = [\"a\"]\n"},
		{"last with a comma", "permissions.deny = [ \"a\", \"old\", ]\n", "permissions.deny = [ \"a\", ]\n"},
		{"lines", "permissions.deny = [\n  \"a\", # a\n  \"old\", # why, really\n  # b\n  \"b\",\n]\n", "permissions.deny = [\n  \"a\", # a\n  # b\n  \"b\",\n]\n"},
		{"last line without a comma", "permissions.deny = [\n  \"a\",\n  \"old\"\n]\n", "permissions.deny = [\n  \"a\",\n]\n"},
		{"twice", "permissions.deny = ['old', 'a', \"old\"]\n", "permissions.deny = ['a']\n"},
	} {
		w := newWorld(t)
		w.write(config.LayerUser, c.file)
		if found, err := w.file(config.LayerUser).Remove("permissions.deny", "old"); err != nil || !found {
			t.Errorf("%s: %v (%v)", c.name, found, err)
		} else if got := w.content(config.LayerUser); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if found, err := w.file(config.LayerUser).Remove("permissions.deny", "old"); err != nil || found {
			t.Errorf("%s: again: %v (%v)", c.name, found, err)
		}
	}
	w := newWorld(t)
	if found, err := w.file(config.LayerUser).Remove("permissions.deny", "old"); err != nil || found {
		t.Errorf("without a file: %v (%v)", found, err)
	}
	if _, err := w.file(config.LayerUser).Remove("model", "x"); err == nil || !strings.Contains(err.Error(), "model is not a list of strings") {
		t.Errorf("from a string: %v", err)
	}
	w.write(config.LayerUser, "permissions = {deny = ['old']}\n")
	if _, err := w.file(config.LayerUser).Remove("permissions.deny", "old"); err == nil || !strings.Contains(err.Error(), "edit the file instead") {
		t.Errorf("from an inline table: %v", err)
	}
}

func TestUnset_RemovesOnlyTheKey(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerUser, "# mine\nmodel = \"m\" # x\neffort = \"low\"\n\n[run]\nbudget = 0\nmax_rounds = 5\n")
	for _, key := range []string{"model", "run.budget"} {
		if err := w.file(config.LayerUser).Unset(key); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := w.content(config.LayerUser), "# mine\neffort = \"low\"\n\n[run]\nmax_rounds = 5\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for key, says := range map[string]string{"model": "model is not set in ", "modle": "did you mean model", "run": "is a section"} {
		if err := w.file(config.LayerUser).Unset(key); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", key, err, says)
		}
	}
	w.write(config.LayerUser, "[[hooks]]\nevent = 'Stop'\ncommand = 'x'\n")
	if err := w.file(config.LayerUser).Unset("hooks"); err == nil || !strings.Contains(err.Error(), "edit the file instead") {
		t.Errorf("a list of tables: %v", err)
	}
}

func TestSet_RefusesMistakesAndChangesNothing(t *testing.T) {
	for _, c := range []struct{ name, file, key, value, want string }{
		{"an unknown key", "", "modle", "x", `unknown key "modle"; did you mean model?`},
		{"a section", "", "permissions", "x", "permissions is a section; use one of its keys: permissions.mode, permissions.allow, "},
		{"a wrong type", "", "run.budget", "much", "run.budget must be a number"},
		{"an unknown value", "", "permissions.mode", "yolo", `unknown permissions.mode "yolo"`},
		{"out of bounds", "", "run.compact_at", "80", "run.compact_at must be between 0 and 1"},
		{"a broken list", "", "permissions.deny", `["a"`, "array is incomplete"},
		{"a list of numbers", "", "permissions.deny", "[1]", "permissions.deny must be a list of strings"},
		{"more than a list", "", "permissions.deny", "[\"a\"]\nmodel = \"x\"", "cannot change permissions.deny"},
		{"a broken file", "model = \"a\"\nmodle = 1\n", "effort", "low", `config.toml:2:1: unknown key "modle"`},
		{"an inline section", "run = {budget = 1}\n", "run.max_turns", "5", "cannot change run.max_turns in"},
		{"base_url alone", "", "base_url", "http://127.0.0.1:1", "base_url needs provider in the same file"},
	} {
		w := newWorld(t)
		if c.file != "" {
			w.write(config.LayerUser, c.file)
		}
		err := w.file(config.LayerUser).Set(c.key, c.value)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		got, err := os.ReadFile(w.files[config.LayerUser])
		if string(got) != c.file || (err == nil) != (c.file != "") {
			t.Errorf("%s: the file is now %q (%v)", c.name, got, err)
		}
	}
}

func TestSet_InProjects(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"base_url", "permissions.allow", "claude_hooks", "sandbox.network", "environment.pass", "permissions.additional_directories"} {
		if err := w.file(config.LayerProject).Set(key, "true"); err == nil || !strings.Contains(err.Error(), "a project cannot set "+key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := w.file(config.LayerProject).Set("model", "m"); err != nil {
		t.Fatal(err)
	}
	if s := w.load(); s.Model != "m" {
		t.Errorf("model %q", s.Model)
	}
}

func TestSet_LocalFileIsKeptOutOfVersionControl(t *testing.T) {
	w := newWorld(t)
	if err := w.file(config.LayerLocal).Set("model", "m"); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(w.sources.Dir, ".reins", ".gitignore")
	if b, err := os.ReadFile(list); string(b) != "config.local.toml\n" {
		t.Errorf(".gitignore is %q (%v)", b, err)
	}
	if err := os.WriteFile(list, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.file(config.LayerLocal).Set("model", "n"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(list); string(b) != "mine\n" {
		t.Errorf("an existing .gitignore is now %q (%v)", b, err)
	}
}

func TestAdd_ThePersonalFileOfAProjectIsOutsideIt(t *testing.T) {
	w := newWorld(t)
	f := w.file(config.LayerPersonal)
	if err := f.Add("permissions.allow", "Edit(/**)"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Path)
	if want := fmt.Sprintf("# Settings for %q\n\n[permissions]\nallow = [\"Edit(/**)\"]\n", w.sources.Dir); string(b) != want || err != nil {
		t.Errorf("the file is %q (%v), want %q", b, err, want)
	}
	if dir := filepath.Join(w.env["XDG_CONFIG_HOME"], "reins", "projects"); filepath.Dir(f.Path) != dir || w.sources.PersonalDir() != dir {
		t.Errorf("the file is %s, and its directory %s", f.Path, w.sources.PersonalDir())
	}
	w.sources.Trusted = false
	if s := w.load(); !slices.Equal(s.Permissions.Allow, []string{"Edit(/**)"}) || len(s.Notes) > 0 {
		t.Errorf("in an untrusted project: %q, %v", s.Permissions.Allow, s.Notes)
	}
	w.sources.Dir = filepath.Join(t.TempDir(), filepath.Base(w.sources.Dir)) // another project with the same name
	if err := os.Mkdir(w.sources.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if s := w.load(); len(s.Permissions.Allow) > 0 {
		t.Errorf("in another project: %q", s.Permissions.Allow)
	}
}

func TestSet_WritesNothingOutsideOfTheProject(t *testing.T) {
	w := newWorld(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(w.sources.Dir, ".reins")); err != nil {
		t.Skip(err)
	}
	if err := w.file(config.LayerProject).Set("model", "m"); err == nil {
		t.Error("a file was written through a link")
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) > 0 {
		t.Errorf("outside there is %v (%v)", files, err)
	}
}

func TestSet_KeepsLinkAndModeOfTheUserFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes differ")
	}
	w := newWorld(t)
	if err := w.file(config.LayerUser).Set("model", "a"); err != nil {
		t.Fatal(err)
	}
	path := w.files[config.LayerUser]
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file: %v (%v)", info.Mode(), err)
	}
	real := filepath.Join(t.TempDir(), "dotfiles.toml")
	if err := os.Rename(path, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	if err := w.file(config.LayerUser).Set("model", "b"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o640 || w.content(config.LayerUser) != "model = \"b\"\n" {
		t.Errorf("mode %v (%v), content %q", info.Mode(), err, w.content(config.LayerUser))
	}
	if link, err := os.Readlink(path); link != real {
		t.Errorf("the link is gone: %q (%v)", link, err)
	}
	if files, err := os.ReadDir(filepath.Dir(real)); err != nil || len(files) != 1 {
		t.Errorf("the directory has %v (%v), want one file", files, err)
	}
}

// TestAgentCanSet_NothingButWhatIsListed fails when a new key is opened to agents by accident.
func TestAgentCanSet_NothingButWhatIsListed(t *testing.T) {
	open := []string{"model", "effort", "response_timeout", "run.compact_at", "mcp.wait", "mcp.defer_above"}
	for _, key := range append(config.Keys(), "unknown", "") {
		if got := config.AgentCanSet(key); got != slices.Contains(open, key) {
			t.Errorf("an agent can set %s: %v, want %v", key, got, !got)
		}
	}
}
