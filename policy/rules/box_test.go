package rules

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

func TestParse_SaysWhereCommandsRun(t *testing.T) {
	for text, want := range map[string]policy.Box{
		"Bash": policy.BoxWorkspace, "Bash(git push:*)": policy.BoxWorkspace, "Bash(git push:*)@outside": policy.BoxOutside, "Shell(npm ls)@read": policy.BoxRead,
		"Bash(make:*)@workspace": policy.BoxWorkspace, "Bash@outside": policy.BoxOutside, "Bash(npm i @types/node)": policy.BoxWorkspace, "Bash(ssh me@outside)": policy.BoxWorkspace,
		"Read(a@outside)": policy.BoxWorkspace,
	} {
		r, err := Parse(text)
		if err != nil || r.Box() != want || r.String() != text {
			t.Errorf("%s: got %q in %q (%v), want %q", text, r, r.Box(), err, want)
		}
		encoded, err := r.MarshalText()
		var again Rule
		if err != nil || again.UnmarshalText(encoded) != nil || again.Box() != want {
			t.Errorf("%s: encoded as %q (%v)", text, encoded, err)
		}
	}
}

func TestParse_RefusesOtherBoxes(t *testing.T) {
	for text, says := range map[string]string{
		"Bash(make)@everywhere": "unknown box", "Bash(make)@": "unknown box", "Edit(a)@outside": "only a Bash rule", "mcp__x@read": "only a Bash rule", "Bash@": "unknown box",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}

func TestRule_OnlyOneThatAllowsSaysWhereCommandsRun(t *testing.T) {
	r, err := Parse("Bash(make)@read")
	if err != nil || r.Check(policy.Allow) != nil {
		t.Fatal(err, r.Check(policy.Allow))
	}
	for _, v := range []policy.Verdict{policy.Deny, policy.Ask} {
		if err := r.Check(v); err == nil || !strings.Contains(err.Error(), "remove @read") {
			t.Errorf("%v: got %v", v, err)
		}
	}
}

func TestPolicy_TheBoxOfALineIsThatOfAllItsCommands(t *testing.T) {
	r := rules(t, "allow Bash(git push:*)@outside", "allow Bash(git fetch)@outside", "allow Bash(npm ls)@read", "allow Bash(npm audit)@read", "allow Bash(make:*)")
	for line, want := range map[string]policy.Box{
		"git push": policy.BoxOutside, "git push origin x && git fetch": policy.BoxOutside,
		"git push; make": policy.BoxWorkspace, "make; git push": policy.BoxWorkspace, "git push | npm ls": policy.BoxWorkspace, "npm ls | git push": policy.BoxWorkspace,
		"git push; npm ls; git fetch": policy.BoxWorkspace,
		"npm ls":                      policy.BoxRead, "npm ls; npm audit": policy.BoxRead, "npm ls; make": "", "make; npm ls": "", "make": "",
	} {
		if d := decide(t, policy.ModeDefault, r, command(line)); d.Verdict != policy.Allow || d.Box != want {
			t.Errorf("%s: got %+v, want box %q", line, d, want)
		}
	}
	if d := decide(t, policy.ModeDefault, r, command("git push"), command("make")); d.Verdict != policy.Allow || d.Box != policy.BoxWorkspace {
		t.Errorf("two commands of a call: %+v", d)
	}
	for _, line := range []string{"git push; rm a", "git push > a", "git push $(cat /etc/x)"} {
		if d := decide(t, policy.ModeDefault, r, command(line)); d.Verdict != policy.Ask || d.Box != "" {
			t.Errorf("%s: got %+v, want a question without a box", line, d)
		}
	}
	if d := decide(t, policy.ModeBypass, r, command("git push; touch a")); d.Verdict != policy.Allow || d.Box == policy.BoxOutside {
		t.Errorf("a mode leaves the sandbox: %+v", d)
	}
}

func TestPolicy_TheWidestBoxOfTheRulesForACommandApplies(t *testing.T) {
	for _, list := range [][]string{
		{"allow Bash(git:*)", "allow Bash(git push:*)@outside"}, {"allow Bash(git push:*)@outside", "allow Bash(git:*)"}, {"allow Bash", "allow Bash(git push)@outside"},
		{"allow Bash(git:*)@read", "allow Bash(git push:*)@outside"},
	} {
		if d := decide(t, policy.ModeDefault, rules(t, list...), command("git push")); d.Box != policy.BoxOutside {
			t.Errorf("%v: got %+v", list, d)
		}
	}
	if d := decide(t, policy.ModePlan, rules(t, "allow Bash(git push)@outside"), command("git push")); d.Verdict != policy.Ask || d.Box != "" {
		t.Errorf("plan mode: %+v", d)
	}
}

// A call that only reads is allowed where the system enforces that, asked about where the system should but cannot, and
// judged alone where the user wants no sandbox.
func TestReads_DependOnWhatIsEnforced(t *testing.T) {
	for name, c := range map[string]struct {
		line    string
		change  func(*policy.Workspace)
		running policy.Box
		want    policy.Verdict
		box     policy.Box
	}{
		"enforced":              {"ls", func(w *policy.Workspace) {}, "", policy.Allow, policy.BoxRead},
		"not enforced":          {"ls", func(w *policy.Workspace) { w.ReadsOnly, w.Unenforced = false, true }, "", policy.Ask, ""},
		"off":                   {"ls", func(w *policy.Workspace) { w.ReadsOnly = false }, "", policy.Allow, policy.BoxRead},
		"off, needs a box":      {"go vet ./...", func(w *policy.Workspace) { w.ReadsOnly = false }, "", policy.Ask, ""},
		"enforced, needs a box": {"go vet ./...", func(w *policy.Workspace) {}, "", policy.Allow, policy.BoxRead},
		"running in workspace":  {"ls", func(w *policy.Workspace) {}, policy.BoxWorkspace, policy.Ask, ""},
		"running in read":       {"ls", func(w *policy.Workspace) {}, policy.BoxRead, policy.Allow, policy.BoxRead},
	} {
		w := place
		c.change(&w)
		d := Policy{}.Decide(t.Context(), policy.Query{Tool: "shell", Workspace: w, Accesses: []policy.Access{{Kind: policy.Exec, Target: c.line, Running: c.running}}})
		if d.Verdict != c.want || d.Box != c.box {
			t.Errorf("%s: %s in %q (%s), want %s in %q", name, d.Verdict, d.Box, d.Reason, c.want, c.box)
		}
	}
}

func TestReads_OfCredentialsAsk(t *testing.T) {
	rule := func(text string) Rule {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	home := policy.Workspace{Dir: "/home/me", Home: "/home/me", ReadsOnly: true}
	for name, c := range map[string]struct {
		access policy.Access
		mode   policy.Mode
		allow  []Rule
		want   policy.Verdict
		reveal string
	}{
		"file":          {policy.Access{Kind: policy.Read, Target: "/home/me/.ssh/config"}, "", nil, policy.Ask, ""},
		"directory":     {policy.Access{Kind: policy.Read, Target: "/home/me/.mozilla"}, "", nil, policy.Ask, ""},
		"bypass":        {policy.Access{Kind: policy.Read, Target: "/home/me/.ssh/config"}, policy.ModeBypass, nil, policy.Ask, ""},
		"other":         {policy.Access{Kind: policy.Read, Target: "/home/me/.sshx"}, "", nil, policy.Allow, ""},
		"broad rule":    {policy.Access{Kind: policy.Read, Target: "/home/me/.ssh/config"}, "", []Rule{rule("Read(**)")}, policy.Ask, ""},
		"specific rule": {policy.Access{Kind: policy.Read, Target: "/home/me/.ssh/config"}, "", []Rule{rule("Read(~/.ssh/config)")}, policy.Allow, ""},
		"command":       {policy.Access{Kind: policy.Exec, Target: "cat ~/.ssh/config"}, "", nil, policy.Ask, "/home/me/.ssh/config"},
		"command, rule": {policy.Access{Kind: policy.Exec, Target: "cat ~/.ssh/config"}, "", []Rule{rule("Read(~/.ssh/config)")}, policy.Allow, "/home/me/.ssh/config"},
	} {
		d := Policy{Allow: c.allow}.Decide(t.Context(), policy.Query{Tool: "x", Mode: c.mode, Workspace: home, Accesses: []policy.Access{c.access}})
		if d.Verdict != c.want || strings.Join(d.Reveal, " ") != c.reveal {
			t.Errorf("%s: %s (%s), reveals %q, want %s and %q", name, d.Verdict, d.Reason, d.Reveal, c.want, c.reveal)
		}
		if c.access.Kind == policy.Exec && d.Verdict == policy.Allow && d.Box != policy.BoxRead {
			t.Errorf("%s: box %q, want read", name, d.Box)
		}
	}
}

// The repository around the workspace is readable for git and for programs that are not known in detail.
func TestPolicy_OnlyProgramsNeedTheRepository(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": false, "cat a | head -3": false, "find . -name x | xargs grep y": false, "echo x; pwd": false, "git status": true, "cat a; git log": true,
		"go vet ./...": true, "npm ls": true, "make test": true,
	} {
		w := place
		w.ReadsOnly = true
		q := policy.Query{Tool: "t", Accesses: []policy.Access{command(line)}, Workspace: w}
		d := rules(t, "allow Bash(make:*)@read").Decide(t.Context(), q)
		if d.Verdict != policy.Allow || d.Box != policy.BoxRead || d.Repository != want {
			t.Errorf("%s: %+v, want the box read, with the repository %v", line, d, want)
		}
	}
	q := policy.Query{Tool: "t", Accesses: []policy.Access{command("make test")}, Workspace: place}
	d := rules(t, "allow Bash(make:*)").Decide(t.Context(), q)
	if d.Verdict != policy.Allow || d.Repository {
		t.Errorf("in the workspace: %+v", d)
	}
}

// A running program cannot be confined further, so its own box decides what its input can do.
func TestPolicy_InputThatOnlyReadsIsAllowedOnlyWhereItCanOnlyRead(t *testing.T) {
	for running, want := range map[policy.Box]policy.Verdict{"": policy.Allow, policy.BoxRead: policy.Allow, policy.BoxWorkspace: policy.Ask, policy.BoxOutside: policy.Ask} {
		a := command("ls")
		a.Running = running
		if d := decide(t, policy.ModeDefault, Policy{}, a); d.Verdict != want || want == policy.Ask && d.Code != "unenforced" {
			t.Errorf("input for a program in box %q: got %+v, want %v", running, d, want)
		}
	}
}

func TestPolicy_AsksAboutReadingCommandsThatTheSystemCannotConfine(t *testing.T) {
	w := place
	w.Unenforced = true
	for line, want := range map[string]policy.Verdict{"ls": policy.Ask, "cat a | head": policy.Ask, "make test": policy.Allow, "npm ls": policy.Ask} {
		q := policy.Query{Tool: "t", Accesses: []policy.Access{command(line)}, Workspace: w}
		d := rules(t, "allow Bash(make:*)", "allow Bash(npm ls)@read").Decide(t.Context(), q)
		if d.Verdict != want || want == policy.Ask && d.Code != "unenforced" {
			t.Errorf("%s: got %+v, want %v", line, d, want)
		}
	}
}
