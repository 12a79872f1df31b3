package rules

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

// TestReason_OfEveryCodeIsTrue has a call for every code in Policy. The recorded reason must name what was decisive.
func TestReason_OfEveryCodeIsTrue(t *testing.T) {
	run := func(line string) []policy.Access { return []policy.Access{{Kind: policy.Exec, Target: line}} }
	one := func(kind policy.Kind, target string) []policy.Access {
		return []policy.Access{{Kind: kind, Target: target}}
	}
	rules := Policy{}
	for list, texts := range map[*[]Rule][]string{&rules.Deny: {"Bash(shutdown:*)"}, &rules.Ask: {"Bash(npm publish:*)"}, &rules.Allow: {"Bash(npm test)", "Bash(rg:*)"}} {
		for _, text := range texts {
			r, err := Parse(text)
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
		mode         policy.Mode
		accesses     []policy.Access
		workspace    policy.Workspace
	}{
		{"undeclared", "does not declare", "", nil, policy.Workspace{}},
		{"touches_nothing", "touches nothing", "", []policy.Access{}, policy.Workspace{}},
		{"reads_inside", "only reads", "", run("cat f"), policy.Workspace{}},
		{"reads_inside", "only reads", "", one(policy.Read, dir+"/f"), policy.Workspace{}},
		{"reads_system", "/etc/os-release, a system file", "", run("cat /etc/os-release"), policy.Workspace{}},
		{"reads_outside", "/srv/x, outside the working directory", "", one(policy.Read, "/srv/x"), policy.Workspace{}},
		{"reads_secret", ".ssh/config, which holds credentials", "", one(policy.Read, "/home/u/.ssh/config"), policy.Workspace{}},
		{"never", ".ssh/id_rsa, which is a private key", policy.ModeBypass, one(policy.Read, "/home/u/.ssh/id_rsa"), policy.Workspace{}},
		{"never", "deletes or moves /usr, a directory of the system", policy.ModeBypass, run("rm -rf /usr"), policy.Workspace{}},
		{"edits_inside", "writes " + dir + "/f", policy.ModeAcceptEdits, run("echo x > f"), policy.Workspace{}},
		{"edits_inside", "writes " + dir + "/f", policy.ModeAuto, run("cat /etc/os-release > f"), policy.Workspace{}},
		{"edits_inside", "writes " + dir + "/f", policy.ModeAcceptEdits, run("cat /etc/os-release; ls; touch f"), policy.Workspace{}},
		{"writes_outside", "writes /srv/x, outside", policy.ModeAcceptEdits, one(policy.Write, "/srv/x"), policy.Workspace{}},
		{"writes", "writes " + dir + "/f", "", one(policy.Write, dir+"/f"), policy.Workspace{}},
		{"deletes", "deletes " + dir + "/f", "", one(policy.Delete, dir+"/f"), policy.Workspace{Created: func(string) bool { return true }}},
		{"deletes_outside", "deletes /srv/x, outside", "", one(policy.Delete, "/srv/x"), policy.Workspace{}},
		{"deletes_foreign", "which this session did not create", policy.ModeAcceptEdits, one(policy.Delete, dir+"/f"), policy.Workspace{Created: func(string) bool { return false }}},
		{"deletes_foreign", "deletes " + dir + "/*.tmp", policy.ModeAcceptEdits, run("rm *.tmp"), policy.Workspace{}},
		{"protected", "protected", policy.ModeAcceptEdits, one(policy.Write, dir+"/.git/config"), policy.Workspace{}},
		{"sandboxed", "make runs in the sandbox", policy.ModeAuto, run("touch f; make"), policy.Workspace{Sandboxed: true}},
		{"runs", "make", policy.ModeAcceptEdits, run("touch f; make"), policy.Workspace{}},
		{"unenforced", "cannot confine it to reading", "", run("cat f"), policy.Workspace{Unenforced: true}},
		{"git_config", "core.fsmonitor", "", run("git status"), policy.Workspace{Git: git}},
		{"connects", "connects to example.com", "", one(policy.Connect, "example.com"), policy.Workspace{}},
		{"inputs", "sends input to cat: x", "", one(policy.Input, "cat: x"), policy.Workspace{}},
		{"configures", "configures model", policy.ModeBypass, one(policy.Configure, "model"), policy.Workspace{}},
		{"unknown_access", "dance x", "", one("dance", "x"), policy.Workspace{}},
		{"unparsed", "runs: (", "", run("("), policy.Workspace{}},
		{"unresolved", "loop", "", run("cat loop/x"), policy.Workspace{Files: looping{}}},
		{"widens", "rg", "", run("rg --pre ./x y"), policy.Workspace{}},
		{"denied_by_rule", "rule Bash(shutdown:*)", policy.ModeBypass, run("shutdown now"), policy.Workspace{}},
		{"asked_by_rule", "rule Bash(npm publish:*)", policy.ModeAcceptEdits, run("npm publish"), policy.Workspace{}},
		{"allowed_by_rule", "rule Bash(npm test)", "", run("npm test"), policy.Workspace{}},
		{"bypass", "make", policy.ModeBypass, run("make"), policy.Workspace{}},
	} {
		seen[c.code] = true
		c.workspace.Dir, c.workspace.Home = dir, "/home/u"
		d := rules.Decide(t.Context(), policy.Query{Tool: "shell", Mode: c.mode, Accesses: c.accesses, Workspace: c.workspace})
		if d.Code != c.code || !strings.Contains(d.Reason, c.reason) || d.Rule == "" {
			t.Errorf("%v in %s: got %s, %q; want %s, %q", c.accesses, cmp.Or(c.mode, policy.ModeDefault), d.Code, d.Reason, c.code, c.reason)
		}
	}
	for code := range codes(t) {
		if !seen[code] {
			t.Errorf("there is no case for the code %s", code)
		}
	}
}

type looping struct{ policy.Files }

func (looping) RealPath(context.Context, string) (string, error) { return "", os.ErrInvalid }

// codes finds Policy's codes in its source.
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
