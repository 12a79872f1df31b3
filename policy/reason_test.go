package policy

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReason_OfEveryCodeIsTrue has a call for every code in Standard. The recorded reason must name what was decisive.
func TestReason_OfEveryCodeIsTrue(t *testing.T) {
	run := func(line string) []Access { return []Access{{Kind: Exec, Target: line}} }
	one := func(kind Kind, target string) []Access { return []Access{{Kind: kind, Target: target}} }
	rules := Rules{}
	for list, texts := range map[*[]Rule][]string{&rules.Deny: {"Bash(shutdown:*)"}, &rules.Ask: {"Bash(npm publish:*)"}, &rules.Allow: {"Bash(npm test)", "Bash(rg:*)"}} {
		for _, text := range texts {
			r, err := ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			*list = append(*list, r)
		}
	}
	git := func(context.Context, string) string { return "core.fsmonitor" }
	dir := t.TempDir()
	seen := map[string]bool{}
	for _, c := range []struct {
		code, reason string
		mode         Mode
		accesses     []Access
		workspace    Workspace
	}{
		{"undeclared", "does not declare", "", nil, Workspace{}},
		{"touches_nothing", "touches nothing", "", []Access{}, Workspace{}},
		{"reads_inside", "only reads", "", run("cat f"), Workspace{}},
		{"reads_inside", "only reads", "", one(Read, dir+"/f"), Workspace{}},
		{"reads_system", "/etc/os-release, a system file", "", run("cat /etc/os-release"), Workspace{}},
		{"reads_outside", "/srv/x, outside the working directory", "", one(Read, "/srv/x"), Workspace{}},
		{"reads_secret", ".ssh/config, which holds credentials", "", one(Read, "/home/u/.ssh/config"), Workspace{}},
		{"never", ".ssh/id_rsa, which is a private key", ModeBypass, one(Read, "/home/u/.ssh/id_rsa"), Workspace{}},
		{"never", "deletes or moves /usr, a directory of the system", ModeBypass, run("rm -rf /usr"), Workspace{}},
		{"edits_inside", "writes " + dir + "/f", ModeAcceptEdits, run("echo x > f"), Workspace{}},
		{"edits_inside", "writes " + dir + "/f", ModeAuto, run("cat /etc/os-release > f"), Workspace{}},
		{"edits_inside", "writes " + dir + "/f", ModeAcceptEdits, run("cat /etc/os-release; ls; touch f"), Workspace{}},
		{"writes_outside", "writes /srv/x, outside", ModeAcceptEdits, one(Write, "/srv/x"), Workspace{}},
		{"writes", "writes " + dir + "/f", "", one(Write, dir+"/f"), Workspace{}},
		{"deletes", "deletes " + dir + "/f", "", one(Delete, dir+"/f"), Workspace{Created: func(string) bool { return true }}},
		{"deletes_outside", "deletes /srv/x, outside", "", one(Delete, "/srv/x"), Workspace{}},
		{"deletes_foreign", "which this session did not create", ModeAcceptEdits, one(Delete, dir+"/f"), Workspace{Created: func(string) bool { return false }}},
		{"deletes_foreign", "deletes " + dir + "/*.tmp", ModeAcceptEdits, run("rm *.tmp"), Workspace{}},
		{"protected", "protected", ModeAcceptEdits, one(Write, dir+"/.git/config"), Workspace{}},
		{"sandboxed", "make runs in the sandbox", ModeAuto, run("touch f; make"), Workspace{Sandboxed: true}},
		{"runs", "make", ModeAcceptEdits, run("touch f; make"), Workspace{}},
		{"unenforced", "cannot confine it to reading", "", run("cat f"), Workspace{Unenforced: true}},
		{"git_config", "core.fsmonitor", "", run("git status"), Workspace{Git: git}},
		{"connects", "connects to example.com", "", one(Connect, "example.com"), Workspace{}},
		{"inputs", "sends input to cat: x", "", one(Input, "cat: x"), Workspace{}},
		{"configures", "configures model", ModeBypass, one(Configure, "model"), Workspace{}},
		{"unknown_access", "dance x", "", one("dance", "x"), Workspace{}},
		{"unparsed", "runs: (", "", run("("), Workspace{}},
		{"unresolved", "loop", "", run("cat loop/x"), Workspace{Files: looping{}}},
		{"widens", "rg", "", run("rg --pre ./x y"), Workspace{}},
		{"denied_by_rule", "rule Bash(shutdown:*)", ModeBypass, run("shutdown now"), Workspace{}},
		{"asked_by_rule", "rule Bash(npm publish:*)", ModeAcceptEdits, run("npm publish"), Workspace{}},
		{"allowed_by_rule", "rule Bash(npm test)", "", run("npm test"), Workspace{}},
		{"bypass", "make", ModeBypass, run("make"), Workspace{}},
	} {
		seen[c.code] = true
		c.workspace.Dir, c.workspace.Home = dir, "/home/u"
		d := Standard{rules}.Decide(t.Context(), Query{Tool: "shell", Mode: c.mode, Accesses: c.accesses, Workspace: c.workspace})
		if d.Code != c.code || !strings.Contains(d.Reason, c.reason) || d.Rule == "" {
			t.Errorf("%v in %s: got %s, %q; want %s, %q", c.accesses, cmp.Or(c.mode, ModeDefault), d.Code, d.Reason, c.code, c.reason)
		}
	}
	for code := range codes(t) {
		if !seen[code] {
			t.Errorf("there is no case for the code %s", code)
		}
	}
}

type looping struct{ Files }

func (looping) RealPath(context.Context, string) (string, error) { return "", os.ErrInvalid }

// codes finds Standard's codes in its source.
func codes(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || strings.HasSuffix(f, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:asks\(|allows\(|Code: )"(\w+)"`).FindAllStringSubmatch(string(b), -1) {
			found[m[1]] = true
		}
	}
	for _, other := range []string{"allow_all", "listed", "not_listed"} { // used by other policies
		delete(found, other)
	}
	return found
}
