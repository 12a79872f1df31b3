package policy

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// rules parses rules: "allow …", "ask …" or "deny …".
func rules(t testing.TB, texts ...string) (r Rules) {
	t.Helper()
	for _, text := range texts {
		list, spec, _ := strings.Cut(text, " ")
		rule, err := ParseRule(spec)
		if err != nil {
			t.Fatal(err)
		}
		switch list {
		case "allow":
			r.Allow = append(r.Allow, rule)
		case "ask":
			r.Ask = append(r.Ask, rule)
		case "deny":
			r.Deny = append(r.Deny, rule)
		default:
			t.Fatalf("no list in %q", text)
		}
	}
	return r
}

var place = Workspace{Dir: "/repo", Home: "/home/me", ReadsOnly: true}

func decide(t testing.TB, mode Mode, r Rules, accesses ...Access) Decision {
	t.Helper()
	return Standard{r}.Decide(t.Context(), Query{Tool: "some_tool", Accesses: accesses, Mode: mode, Workspace: place})
}

func command(line string) Access { return Access{Kind: Exec, Target: line} }

func TestStandard_EveryModeForEveryKindOfCall(t *testing.T) {
	const modes = "default acceptEdits plan auto dontAsk bypassPermissions"
	created := Workspace{Dir: "/repo", Home: "/home/me", Created: func(p string) bool { return p == "/repo/mine" }}
	boxed := place
	boxed.Sandboxed = true
	for _, c := range []struct {
		name      string
		workspace Workspace
		access    Access
		want      string // by mode
	}{
		{"read inside", place, Access{Kind: Read, Target: "/repo/a"}, "allow allow allow allow allow allow"},
		{"read outside", place, Access{Kind: Read, Target: "/etc/x"}, "ask ask ask ask deny allow"},
		{"write inside", place, Access{Kind: Write, Target: "/repo/a"}, "ask allow ask allow deny allow"},
		{"write outside", place, Access{Kind: Write, Target: "/x"}, "ask ask ask ask deny allow"},
		{"write a protected file", place, Access{Kind: Write, Target: "/repo/.git/hooks/pre-commit"}, "deny deny deny deny deny deny"},
		{"delete a foreign file", place, Access{Kind: Delete, Target: "/repo/a"}, "ask ask ask ask deny ask"},
		{"delete an own file", created, Access{Kind: Delete, Target: "/repo/mine"}, "ask allow ask allow deny allow"},
		{"delete outside", place, Access{Kind: Delete, Target: "/a"}, "ask ask ask ask deny ask"},
		{"reading command", place, command("ls | head"), "allow allow allow allow allow allow"},
		{"editing command", place, command("mkdir -p a && touch a/b"), "ask allow ask allow deny allow"},
		{"any command", place, command("make"), "ask ask ask ask deny allow"},
		{"any command in a sandbox", boxed, command("make"), "ask ask ask allow deny allow"},
		{"deleting command", place, command("rm -rf a"), "ask ask ask ask deny ask"},
		{"deleting command in a sandbox", boxed, command("rm -rf a"), "ask ask ask ask deny ask"},
		{"command that cannot be parsed", place, command("ls |"), "ask ask ask ask deny ask"},
		{"input", place, Access{Kind: Input, Target: "process 1 (python3): x"}, "ask ask ask ask deny allow"},
		{"input in a sandbox", boxed, Access{Kind: Input, Target: "process 1 (python3): x"}, "ask ask ask ask deny allow"},
		{"connection", place, Access{Kind: Connect, Target: "example.com"}, "ask ask ask ask deny allow"},
	} {
		var got []string
		for _, m := range strings.Fields(modes) {
			d := Standard{}.Decide(t.Context(), Query{Tool: "t", Accesses: []Access{c.access}, Mode: Mode(m), Workspace: c.workspace})
			got = append(got, d.Verdict.String())
			if d.Rule == "" || d.Reason == "" || d.Code == "" {
				t.Errorf("%s in mode %s: %+v says too little", c.name, m, d)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s (%s): got %s, want %s", c.name, modes, s, c.want)
		}
	}
	if d := decide(t, ModePlan, Rules{}, command("make")); !strings.Contains(d.Reason, "plan mode") {
		t.Errorf("plan mode is not named: %+v", d)
	}
}

func TestStandard_Rules(t *testing.T) {
	for _, c := range []struct {
		rules  string // separated by "; "
		access Access
		want   string
		rule   string
	}{
		{"allow Bash(npm test:*)", command("npm test -- --watch"), "allow", "Bash(npm test:*)"},
		{"allow Bash(npm test:*)", command("npm testing"), "ask", ""},
		{"allow Bash(npm test)", command("npm test x"), "ask", ""},
		{"allow Bash(npm test)", command("npm 'test'"), "allow", "Bash(npm test)"},
		{"allow Bash(git commit:*)", command("git 'commit -m'"), "ask", ""},
		{"allow Bash(git * main)", command("git push origin main"), "allow", "Bash(git * main)"},
		{"allow Bash(npm test:*)", command("npm test && make"), "ask", ""},
		{"allow Bash(npm test:*); allow Bash(make:*)", command("npm test | tee /dev/null && make"), "allow", ""},
		{"allow Bash(npm test:*)", command("sudo npm test"), "ask", ""},
		{"allow Bash(npm test:*)", command("timeout 9 npm test"), "allow", ""},
		{"allow Bash(timeout:*)", command("timeout 9 npm test"), "ask", ""},
		{"allow Bash(find:*)", command("find . -exec ./evil {} ;"), "ask", ""},
		{"allow Bash(sudo apt update)", command("sudo apt update"), "allow", ""},
		{"allow Bash(npm test:*)", command("npm test > out"), "ask", ""},
		{"allow Bash", command("make; PATH=x ls"), "allow", "Bash"},
		{"allow Bash", command("rm -rf a"), "ask", ""},
		{"allow Bash(rm:*)", command("rm -rf a"), "allow", ""},
		{"allow Bash(git config:*)", command("git config core.pager x"), "deny", "protected .git"},
		{"allow Edit(.git/config)", Access{Kind: Write, Target: "/repo/.git/config"}, "allow", "Edit(.git/config)"},
		{"allow Edit", Access{Kind: Write, Target: "/repo/.git/config"}, "deny", "protected .git"},
		{"allow Edit(**)", Access{Kind: Write, Target: "/repo/.git/config"}, "deny", ""},
		{"allow Bash(curl:*)", command("curl -o .git/hooks/post-merge x"), "ask", ""},
		{"allow Edit(src/**)", Access{Kind: Write, Target: "/repo/src/a"}, "allow", ""},
		{"allow Edit(src/**)", Access{Kind: Write, Target: "/repo/x/src/a"}, "ask", ""},
		{"allow Edit(*.md)", Access{Kind: Write, Target: "/repo/x/a.md"}, "allow", ""},
		{"allow Edit(/*.md)", Access{Kind: Write, Target: "/repo/x/a.md"}, "ask", ""},
		{"allow Read(//etc/hosts)", command("cat /etc/hosts"), "allow", ""},
		{"allow Read(~/notes)", command("grep x ~/notes/a"), "allow", ""},
		{"deny Read(.env)", command("cat .env"), "deny", "Read(.env)"},
		{"deny Read(.env)", command("head -1 < sub/.env"), "deny", ""},
		{"deny Read(.env)", command("cp .env a"), "deny", ""},
		{"deny Read(.env); allow Read(.env)", Access{Kind: Read, Target: "/repo/.env"}, "deny", ""},
		{"deny Read(secrets/)", Access{Kind: Read, Target: "/repo/secrets/deep/x"}, "deny", ""},
		{"ask Read(a); allow Read(a)", Access{Kind: Read, Target: "/repo/a"}, "ask", "Read(a)"},
		{"deny Bash(rm -rf:*)", command("rm -fr a"), "deny", ""},
		{"deny Bash(rm -rf:*)", command("/bin/rm --recursive -f a"), "deny", ""},
		{"deny Bash(rm:*)", command("find . -exec rm {} +"), "deny", ""},
		{"deny Bash(rm:*)", command("ls | xargs rm"), "deny", ""},
		{"deny Bash(rm:*)", command("ls $(rm a)"), "deny", ""},
		{"deny Bash(git push:*)", command("git -C . --no-pager push"), "deny", ""},
		{"deny Bash(git push:*)", command("git log push"), "allow", ""},
		{"deny Bash(rm:*); allow Bash", command("$x a"), "ask", ""},
		{"deny Bash", Access{Kind: Input, Target: "process 1 (python3): x"}, "deny", "Bash"},
		{"allow Bash", Access{Kind: Input, Target: "process 1 (python3): x"}, "ask", ""},
		{"deny some_tool", Access{Kind: Read, Target: "/repo/a"}, "deny", "some_tool"},
		{"ask some_tool", Access{Kind: Read, Target: "/repo/a"}, "ask", "some_tool"},
		{"allow some_tool", Access{Kind: Connect, Target: "x"}, "allow", "some_tool"},
		{"allow some_tool", Access{Kind: Write, Target: "/repo/.git/x"}, "deny", ""},
		{"allow WebFetch(domain:go.dev)", Access{Kind: Connect, Target: "https://go.dev/x"}, "allow", ""},
		{"allow WebFetch(domain:go.dev)", Access{Kind: Connect, Target: "evil-go.dev:443"}, "ask", ""},
		{"allow WebFetch(domain:go.dev)", Access{Kind: Connect, Target: "go.dev.evil.com"}, "ask", ""},
		{"allow WebFetch(domain:go.dev)", Access{Kind: Connect, Target: "https://go.dev@evil.com"}, "ask", ""},
		{"allow WebFetch(domain:go.dev)", Access{Kind: Connect, Target: "x.go.dev"}, "ask", ""},
		{"allow WebFetch(domain:*.go.dev)", Access{Kind: Connect, Target: "x.GO.dev."}, "allow", ""},
		{"deny WebFetch(domain:go.dev)", Access{Kind: Connect, Target: "x.go.dev"}, "deny", ""},
	} {
		d := decide(t, ModeDefault, rules(t, strings.Split(c.rules, "; ")...), c.access)
		if d.Verdict.String() != c.want || c.rule != "" && d.Rule != c.rule {
			t.Errorf("%s: %s: got %+v, want %s by %q", c.rules, c.access, d, c.want, c.rule)
		}
	}
}

func TestStandard_PlanModeAllowsNoChangesByRule(t *testing.T) {
	r := rules(t, "allow Bash(make:*)", "allow Edit", "allow some_tool", "allow Read(/etc/**)")
	for _, a := range []Access{command("make"), {Kind: Write, Target: "/repo/a"}, {Kind: Connect, Target: "x"}} {
		if d := decide(t, ModePlan, r, a); d.Verdict != Ask {
			t.Errorf("%s: got %+v, want ask", a, d)
		}
	}
}

func TestStandard_ServersOfMCPTools(t *testing.T) {
	for rule, want := range map[string]Verdict{"mcp__files": Allow, "mcp__files__*": Allow, "mcp__files__read": Allow, "mcp__file": Ask, "mcp__files__rea": Ask} {
		d := Standard{rules(t, "allow "+rule)}.Decide(t.Context(), Query{Tool: "mcp__files__read", Workspace: place})
		if d.Verdict != want {
			t.Errorf("%s: got %+v, want %v", rule, d, want)
		}
	}
}

func TestParseRule_Mistakes(t *testing.T) {
	for text, says := range map[string]string{
		"": "invalid rule", "Bash(ls": "closing parenthesis", "Bash()": "empty", "WebFetch(go.dev)": "domain:HOST", "WebSearch(domain:go.dev)": "takes no pattern", "WebFetch(domain:a*.b)": "domain:",
		"Read(!x)": "negated", "Read([)": "malformed", "Bash(a * b:*)": "either", "two words": "tool name", "(x)": "tool name",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}

func TestSuggest_GrantsWhatItSaysAndNoMore(t *testing.T) {
	for _, c := range []struct {
		access Access
		want   string // the rules in all suggestions
		not    string // a command that they do not allow
	}{
		{command("go test ./... | tail -3"), "Bash(go test:*)", "go build"},
		{command("npm run build -- x"), "Bash(npm run build:*)", "npm run evil"},
		{command("npm test && git push origin main"), "Bash(npm test:*) Bash(git push:*)", "git commit"},
		{command("python x.py"), "Bash(python x.py)", "python y.py"},
		{command("rm a"), "Bash(rm a)", "rm b"},
		{command("$x"), "", "ls /etc"},
		{command("make > out"), "Edit(/out) Bash(make)", "make > other"},
		{command("make build"), "Bash(make build:*)", "make clean"},
		{Access{Kind: Write, Target: "/repo/a"}, "Edit(/**)", "make"},
		{Access{Kind: Write, Target: "/x"}, "", "make"},
		{Access{Kind: Read, Target: "/etc/x/y"}, "Read(//etc/x/**)", "cat /etc/z"},
		{Access{Kind: Connect, Target: "https://go.dev/a"}, "WebFetch(domain:go.dev)", "make"},
	} {
		q := Query{Tool: "t", Accesses: []Access{c.access}, Workspace: place}
		var got []string
		var all []Rule
		for _, s := range (Standard{}).Suggest(t.Context(), q) {
			if s.Text == "" {
				t.Errorf("%s: a suggestion says nothing: %v", c.access, s.Rules)
			}
			for _, r := range s.Rules {
				got, all = append(got, r.String()), append(all, r)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.access, got, c.want)
		}
		if d := (Standard{}).Allowing(all).Decide(t.Context(), Query{Tool: "t", Accesses: []Access{command(c.not)}, Workspace: place}); d.Verdict == Allow {
			t.Errorf("%s: %v also allow %s", c.access, got, c.not)
		}
	}
}

func TestSuggest_NamesAToolThatDoesNotDeclareItsAccesses(t *testing.T) {
	for _, c := range []struct {
		mode  Mode
		rules string
		want  string
	}{{ModeDefault, "", "mcp__s__t"}, {ModePlan, "", ""}, {ModeDefault, "deny mcp__s", ""}, {ModeDefault, "ask mcp__s__t", ""}} {
		var policy Standard
		if c.rules != "" {
			policy.Rules = rules(t, c.rules)
		}
		var got []string
		for _, s := range policy.Suggest(t.Context(), Query{Tool: "mcp__s__t", Mode: c.mode, Workspace: place}) {
			for _, r := range s.Rules {
				got = append(got, r.String())
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.mode, c.rules, got, c.want)
		}
	}
}

func TestGrants_RulesHoldTogetherWithThePolicy(t *testing.T) {
	grants := Grants{{Tool: "t", Rules: rules(t, "allow Bash(make:*)").Allow, Accesses: []Access{command("make a")}, Rule: "approved: session"}}
	q := Query{Tool: "other", Accesses: []Access{command("make b")}, Workspace: place}
	if rule, ok := grants.Find(t.Context(), Default{}, q); !ok || rule != "Bash(make:*)" {
		t.Errorf("got %q, %v", rule, ok)
	}
	if _, ok := grants.Find(t.Context(), Standard{rules(t, "deny Bash(make b)")}, q); ok {
		t.Error("a grant overrides a rule that denies")
	}
	if _, ok := grants.Find(t.Context(), Standard{rules(t, "ask Bash(make b)")}, q); ok {
		t.Error("a grant by rule overrides a rule that asks")
	}
	if _, ok := grants.Find(t.Context(), AllowAll{}, Query{Tool: "other", Accesses: []Access{command("make b")}}); ok {
		t.Error("rules count without a policy of rules")
	}
}

func TestCompose(t *testing.T) {
	q := func(tool string, accesses ...Access) Query {
		return Query{Tool: tool, Accesses: accesses, Workspace: place}
	}
	outside, write := Access{Kind: Read, Target: "/x"}, Access{Kind: Write, Target: "/repo/a"}
	deny := Func(func(context.Context, Query) Decision { return Decision{Rule: "never"} })
	for name, c := range map[string]struct {
		policy Policy
		query  Query
		want   Verdict
		rule   string
	}{
		"only, listed":          {Only("a", "b"), q("b", write), Allow, "only"},
		"only, not listed":      {Only("a", "b"), q("c"), Deny, "only"},
		"except, listed":        {Except("a"), q("a"), Deny, "except"},
		"except, not listed":    {Except("a"), q("b", write), Allow, "except"},
		"read-only reads":       {ReadOnly(), q("a", outside, command("cat /etc/x | wc")), Allow, ""},
		"read-only write":       {ReadOnly(), q("a", write), Deny, "read-only"},
		"read-only undeclared":  {ReadOnly(), Query{Tool: "a"}, Deny, "read-only"},
		"read-only command":     {ReadOnly(), q("a", command("touch a")), Deny, "read-only"},
		"all, the strictest":    {All(AllowAll{}, Default{}, Except("z")), q("a", write), Ask, "mode default"},
		"all, a denial":         {All(Default{}, deny, AllowAll{}), q("a", write), Deny, "never"},
		"all, the first of two": {All(Only("a"), AllowAll{}), q("a"), Allow, "only"},
		"all of nothing":        {All(), q("a"), Deny, "all"},
	} {
		if d := c.policy.Decide(t.Context(), c.query); d.Verdict != c.want || c.rule != "" && d.Rule != c.rule {
			t.Errorf("%s: got %+v, want %v by %q", name, d, c.want, c.rule)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range Modes {
		if got, err := ParseMode(strings.ToUpper(string(m))); err != nil || got != m {
			t.Errorf("%s: got %v, %v", m, got, err)
		}
	}
	if m, err := ParseMode(""); m != ModeDefault || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := ParseMode("yolo"); err == nil || !strings.Contains(err.Error(), "acceptEdits, plan") {
		t.Errorf("got %v", err)
	}
	if len(Modes) != 6 || slices.Contains(Modes, "") {
		t.Errorf("modes %v", Modes)
	}
}

func TestStandard_OtherShells(t *testing.T) {
	for shell, want := range map[string]string{"": "allow allow", "/bin/bash": "allow allow", "/bin/sh": "allow ask", "/bin/zsh": "ask ask", "/usr/bin/fish": "ask ask"} {
		w := place
		w.Shell = shell
		var got []string
		for _, line := range []string{"ls | head", "((1 + 1)); ls"} {
			d := Standard{}.Decide(t.Context(), Query{Tool: "t", Accesses: []Access{command(line)}, Workspace: w})
			got = append(got, d.Verdict.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", shell, got, want)
		}
	}
}

func TestStandard_ConfigureAlwaysAsks(t *testing.T) {
	rule, err := ParseRule("some_tool")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range Modes {
		want := Ask
		if mode == ModeDontAsk {
			want = Deny
		}
		if d := decide(t, mode, Rules{Allow: []Rule{rule}}, Access{Kind: Configure, Target: "model = x"}); d.Verdict != want {
			t.Errorf("mode %s: %+v, want %s", mode, d, want)
		}
	}
}

func TestStandard_AllowedChangesAreNotRecordedAsReading(t *testing.T) {
	for _, mode := range []Mode{ModeAcceptEdits, ModeAuto} {
		for _, c := range []struct {
			line, code, reason string
		}{
			{"touch a", "edits_inside", "writes /repo/a"},
			{"ls && touch a", "edits_inside", "writes /repo/a"},
			{"mkdir d | head", "edits_inside", "writes /repo/d"},
			{"cp a b", "edits_inside", "writes /repo/b"},
			{"cat a > b", "edits_inside", "writes /repo/b"},
			{"ls | head", "reads_inside", "only reads inside the working directory"},
		} {
			if d := decide(t, mode, Rules{}, command(c.line)); d.Verdict != Allow || d.Code != c.code || d.Reason != c.reason {
				t.Errorf("%s in mode %s: got %+v, want %s: %s", c.line, mode, d, c.code, c.reason)
			}
		}
		if d := decide(t, mode, Rules{}, Access{Kind: Read, Target: "/repo/a"}, Access{Kind: Write, Target: "/repo/b"}); d.Code != "edits_inside" {
			t.Errorf("a tool that reads and writes, in mode %s: %+v", mode, d)
		}
	}
	r := rules(t, "allow Bash(make:*)")
	for _, line := range []string{"ls; make", "make; ls"} {
		if d := decide(t, ModeDefault, r, command(line)); d.Code != "allowed_by_rule" || d.Rule != "Bash(make:*)" {
			t.Errorf("%s: got %+v, want the rule", line, d)
		}
	}
}

func TestStandard_TheHostOfAURLFollowsTheLastAt(t *testing.T) {
	for _, c := range []struct{ rules, target, want string }{
		{"allow WebFetch(domain:go.dev)", "https://a@b@go.dev/", "allow"},
		{"allow WebFetch(domain:go.dev)", "https://x@go.dev@evil.com/", "ask"},
		{"deny WebFetch(domain:evil.com)", "https://go.dev@x@evil.com/", "deny"},
	} {
		if d := decide(t, ModeDefault, rules(t, c.rules), Access{Kind: Connect, Target: c.target}); d.Verdict.String() != c.want {
			t.Errorf("%s: %s: got %+v, want %s", c.rules, c.target, d, c.want)
		}
	}
}

func TestStandard_OnlyARuleThatNamesCredentialsAllowsReadingThem(t *testing.T) {
	const key = "/home/me/.ssh/config"
	for _, a := range []Access{{Kind: Read, Target: key}, command("cat " + key)} {
		for _, text := range []string{"allow Read", "allow Read(**)", "allow Read(//**)", "allow Read(~/**)", "allow some_tool"} {
			if d := decide(t, ModeDefault, rules(t, text), a); d.Verdict != Ask || d.Code != "reads_secret" {
				t.Errorf("%s with rule %q: got %+v, want a question", a, text, d)
			}
		}
		if d := decide(t, ModeBypass, Rules{}, a); d.Verdict != Ask {
			t.Errorf("%s in mode bypass: got %+v, want a question", a, d)
		}
		for _, text := range []string{"allow Read(~/.ssh/**)", "allow Read(//home/me/.ssh/config)"} {
			if d := decide(t, ModeDefault, rules(t, text), a); d.Verdict != Allow {
				t.Errorf("%s with rule %q: got %+v, want it allowed", a, text, d)
			}
		}
	}
	if d := decide(t, ModeDefault, rules(t, "allow Read(//**)"), Access{Kind: Read, Target: "/home/me/notes"}); d.Verdict != Allow {
		t.Errorf("a file without credentials: %+v", d)
	}
}
