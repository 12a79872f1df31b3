package policy

import (
	"strings"
	"testing"
)

func TestParseRule_SaysWhereCommandsRun(t *testing.T) {
	for text, want := range map[string]Box{
		"Bash": BoxWorkspace, "Bash(git push:*)": BoxWorkspace, "Bash(git push:*)@outside": BoxOutside, "Shell(npm ls)@read": BoxRead,
		"Bash(make:*)@workspace": BoxWorkspace, "Bash@outside": BoxOutside, "Bash(npm i @types/node)": BoxWorkspace, "Bash(ssh me@outside)": BoxWorkspace,
		"Read(a@outside)": BoxWorkspace,
	} {
		r, err := ParseRule(text)
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

func TestParseRule_RefusesOtherBoxes(t *testing.T) {
	for text, says := range map[string]string{
		"Bash(make)@everywhere": "unknown box", "Bash(make)@": "unknown box", "Edit(a)@outside": "only a Bash rule", "mcp__x@read": "only a Bash rule", "Bash@": "unknown box",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}

func TestRule_OnlyOneThatAllowsSaysWhereCommandsRun(t *testing.T) {
	r, err := ParseRule("Bash(make)@read")
	if err != nil || r.Check(Allow) != nil {
		t.Fatal(err, r.Check(Allow))
	}
	for _, v := range []Verdict{Deny, Ask} {
		if err := r.Check(v); err == nil || !strings.Contains(err.Error(), "remove @read") {
			t.Errorf("%v: got %v", v, err)
		}
	}
}

func TestStandard_TheBoxOfALineIsThatOfAllItsCommands(t *testing.T) {
	r := rules(t, "allow Bash(git push:*)@outside", "allow Bash(git fetch)@outside", "allow Bash(npm ls)@read", "allow Bash(npm audit)@read", "allow Bash(make:*)")
	for line, want := range map[string]Box{
		"git push": BoxOutside, "git push origin x && git fetch": BoxOutside,
		"git push; make": BoxWorkspace, "make; git push": BoxWorkspace, "git push | npm ls": BoxWorkspace, "npm ls | git push": BoxWorkspace,
		"git push; npm ls; git fetch": BoxWorkspace,
		"npm ls":                      BoxRead, "npm ls; npm audit": BoxRead, "npm ls; make": "", "make; npm ls": "", "make": "",
	} {
		if d := decide(t, ModeDefault, r, command(line)); d.Verdict != Allow || d.Box != want {
			t.Errorf("%s: got %+v, want box %q", line, d, want)
		}
	}
	if d := decide(t, ModeDefault, r, command("git push"), command("make")); d.Verdict != Allow || d.Box != BoxWorkspace {
		t.Errorf("two commands of a call: %+v", d)
	}
	for _, line := range []string{"git push; rm a", "git push > a", "git push $(cat /etc/x)"} {
		if d := decide(t, ModeDefault, r, command(line)); d.Verdict != Ask || d.Box != "" {
			t.Errorf("%s: got %+v, want a question without a box", line, d)
		}
	}
	if d := decide(t, ModeBypass, r, command("git push; touch a")); d.Verdict != Allow || d.Box == BoxOutside {
		t.Errorf("a mode leaves the sandbox: %+v", d)
	}
}

func TestStandard_TheWidestBoxOfTheRulesForACommandApplies(t *testing.T) {
	for _, list := range [][]string{
		{"allow Bash(git:*)", "allow Bash(git push:*)@outside"}, {"allow Bash(git push:*)@outside", "allow Bash(git:*)"}, {"allow Bash", "allow Bash(git push)@outside"},
		{"allow Bash(git:*)@read", "allow Bash(git push:*)@outside"},
	} {
		if d := decide(t, ModeDefault, rules(t, list...), command("git push")); d.Box != BoxOutside {
			t.Errorf("%v: got %+v", list, d)
		}
	}
	if d := decide(t, ModePlan, rules(t, "allow Bash(git push)@outside"), command("git push")); d.Verdict != Ask || d.Box != "" {
		t.Errorf("plan mode: %+v", d)
	}
}

// A call that only reads is allowed where the system enforces that, asked about where the system should but cannot, and
// judged alone where the user wants no sandbox.
func TestReads_DependOnWhatIsEnforced(t *testing.T) {
	for name, c := range map[string]struct {
		line    string
		change  func(*Workspace)
		running Box
		want    Verdict
		box     Box
	}{
		"enforced":              {"ls", func(w *Workspace) {}, "", Allow, BoxRead},
		"not enforced":          {"ls", func(w *Workspace) { w.ReadsOnly, w.Unenforced = false, true }, "", Ask, ""},
		"off":                   {"ls", func(w *Workspace) { w.ReadsOnly = false }, "", Allow, BoxRead},
		"off, needs a box":      {"go vet ./...", func(w *Workspace) { w.ReadsOnly = false }, "", Ask, ""},
		"enforced, needs a box": {"go vet ./...", func(w *Workspace) {}, "", Allow, BoxRead},
		"running in workspace":  {"ls", func(w *Workspace) {}, BoxWorkspace, Ask, ""},
		"running in read":       {"ls", func(w *Workspace) {}, BoxRead, Allow, BoxRead},
	} {
		w := place
		c.change(&w)
		d := Standard{}.Decide(t.Context(), Query{Tool: "shell", Workspace: w, Accesses: []Access{{Kind: Exec, Target: c.line, Running: c.running}}})
		if d.Verdict != c.want || d.Box != c.box {
			t.Errorf("%s: %s in %q (%s), want %s in %q", name, d.Verdict, d.Box, d.Reason, c.want, c.box)
		}
	}
}

func TestReads_OfCredentialsAsk(t *testing.T) {
	rule := func(text string) Rule {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	home := Workspace{Dir: "/home/me", Home: "/home/me", ReadsOnly: true}
	for name, c := range map[string]struct {
		access Access
		mode   Mode
		allow  []Rule
		want   Verdict
		reveal string
	}{
		"file":          {Access{Kind: Read, Target: "/home/me/.ssh/config"}, "", nil, Ask, ""},
		"directory":     {Access{Kind: Read, Target: "/home/me/.mozilla"}, "", nil, Ask, ""},
		"bypass":        {Access{Kind: Read, Target: "/home/me/.ssh/config"}, ModeBypass, nil, Ask, ""},
		"other":         {Access{Kind: Read, Target: "/home/me/.sshx"}, "", nil, Allow, ""},
		"broad rule":    {Access{Kind: Read, Target: "/home/me/.ssh/config"}, "", []Rule{rule("Read(**)")}, Ask, ""},
		"specific rule": {Access{Kind: Read, Target: "/home/me/.ssh/config"}, "", []Rule{rule("Read(~/.ssh/config)")}, Allow, ""},
		"command":       {Access{Kind: Exec, Target: "cat ~/.ssh/config"}, "", nil, Ask, "/home/me/.ssh/config"},
		"command, rule": {Access{Kind: Exec, Target: "cat ~/.ssh/config"}, "", []Rule{rule("Read(~/.ssh/config)")}, Allow, "/home/me/.ssh/config"},
	} {
		d := Standard{Rules: Rules{Allow: c.allow}}.Decide(t.Context(), Query{Tool: "x", Mode: c.mode, Workspace: home, Accesses: []Access{c.access}})
		if d.Verdict != c.want || strings.Join(d.Reveal, " ") != c.reveal {
			t.Errorf("%s: %s (%s), reveals %q, want %s and %q", name, d.Verdict, d.Reason, d.Reveal, c.want, c.reveal)
		}
		if c.access.Kind == Exec && d.Verdict == Allow && d.Box != BoxRead {
			t.Errorf("%s: box %q, want read", name, d.Box)
		}
	}
}

// The repository around the workspace is readable for git and for programs that are not known in detail.
func TestStandard_OnlyProgramsNeedTheRepository(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": false, "cat a | head -3": false, "find . -name x | xargs grep y": false, "echo x; pwd": false, "git status": true, "cat a; git log": true,
		"go vet ./...": true, "npm ls": true, "make test": true,
	} {
		w := place
		w.ReadsOnly = true
		q := Query{Tool: "t", Accesses: []Access{command(line)}, Workspace: w}
		d := Standard{rules(t, "allow Bash(make:*)@read")}.Decide(t.Context(), q)
		if d.Verdict != Allow || d.Box != BoxRead || d.Repository != want {
			t.Errorf("%s: %+v, want the box read, with the repository %v", line, d, want)
		}
	}
	d := Standard{rules(t, "allow Bash(make:*)")}.Decide(t.Context(), Query{Tool: "t", Accesses: []Access{command("make test")}, Workspace: place})
	if d.Verdict != Allow || d.Repository {
		t.Errorf("in the workspace: %+v", d)
	}
}

// A running program cannot be confined further, so its own box decides what its input can do.
func TestStandard_InputThatOnlyReadsIsAllowedOnlyWhereItCanOnlyRead(t *testing.T) {
	for running, want := range map[Box]Verdict{"": Allow, BoxRead: Allow, BoxWorkspace: Ask, BoxOutside: Ask} {
		a := command("ls")
		a.Running = running
		if d := decide(t, ModeDefault, Rules{}, a); d.Verdict != want || want == Ask && d.Code != "unenforced" {
			t.Errorf("input for a program in box %q: got %+v, want %v", running, d, want)
		}
	}
}

func TestStandard_AsksAboutReadingCommandsThatTheSystemCannotConfine(t *testing.T) {
	w := place
	w.Unenforced = true
	for line, want := range map[string]Verdict{"ls": Ask, "cat a | head": Ask, "make test": Allow, "npm ls": Ask} {
		q := Query{Tool: "t", Accesses: []Access{command(line)}, Workspace: w}
		d := Standard{rules(t, "allow Bash(make:*)", "allow Bash(npm ls)@read")}.Decide(t.Context(), q)
		if d.Verdict != want || want == Ask && d.Code != "unenforced" {
			t.Errorf("%s: got %+v, want %v", line, d, want)
		}
	}
}
