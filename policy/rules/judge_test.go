package rules

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

// rules parses rules: "allow …", "ask …" or "deny …".
func rules(t testing.TB, texts ...string) (r Policy) {
	t.Helper()
	for _, text := range texts {
		list, spec, _ := strings.Cut(text, " ")
		rule, err := Parse(spec)
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

var place = policy.Workspace{Dir: "/repo", Home: "/home/me", ReadsOnly: true}

func decide(t testing.TB, mode policy.Mode, r Policy, accesses ...policy.Access) policy.Decision {
	t.Helper()
	return r.Decide(t.Context(), policy.Query{Tool: "some_tool", Accesses: accesses, Mode: mode, Workspace: place})
}

func command(line string) policy.Access { return policy.Access{Kind: policy.Exec, Target: line} }

func TestPolicy_EveryModeForEveryKindOfCall(t *testing.T) {
	const modes = "default acceptEdits plan auto dontAsk bypassPermissions"
	created := policy.Workspace{Dir: "/repo", Home: "/home/me", Created: func(p string) bool { return p == "/repo/mine" }}
	boxed := place
	boxed.Sandboxed = true
	for _, c := range []struct {
		name      string
		workspace policy.Workspace
		access    policy.Access
		want      string // by mode
	}{
		{"read inside", place, policy.Access{Kind: policy.Read, Target: "/repo/a"}, "allow allow allow allow allow allow"},
		{"read outside", place, policy.Access{Kind: policy.Read, Target: "/etc/x"}, "ask ask ask ask deny allow"},
		{"write inside", place, policy.Access{Kind: policy.Write, Target: "/repo/a"}, "ask allow ask allow deny allow"},
		{"write outside", place, policy.Access{Kind: policy.Write, Target: "/x"}, "ask ask ask ask deny allow"},
		{"write a protected file", place, policy.Access{Kind: policy.Write, Target: "/repo/.git/hooks/pre-commit"}, "deny deny deny deny deny deny"},
		{"delete a foreign file", place, policy.Access{Kind: policy.Delete, Target: "/repo/a"}, "ask ask ask ask deny ask"},
		{"delete an own file", created, policy.Access{Kind: policy.Delete, Target: "/repo/mine"}, "ask allow ask allow deny allow"},
		{"delete outside", place, policy.Access{Kind: policy.Delete, Target: "/a"}, "ask ask ask ask deny ask"},
		{"reading command", place, command("ls | head"), "allow allow allow allow allow allow"},
		{"editing command", place, command("mkdir -p a && touch a/b"), "ask allow ask allow deny allow"},
		{"any command", place, command("make"), "ask ask ask ask deny allow"},
		{"any command in a sandbox", boxed, command("make"), "ask ask ask allow deny allow"},
		{"deleting command", place, command("rm -rf a"), "ask ask ask ask deny ask"},
		{"deleting command in a sandbox", boxed, command("rm -rf a"), "ask ask ask ask deny ask"},
		{"command that cannot be parsed", place, command("ls |"), "ask ask ask ask deny ask"},
		{"input", place, policy.Access{Kind: policy.Input, Target: "process 1 (python3): x"}, "ask ask ask ask deny allow"},
		{"input in a sandbox", boxed, policy.Access{Kind: policy.Input, Target: "process 1 (python3): x"}, "ask ask ask ask deny allow"},
		{"connection", place, policy.Access{Kind: policy.Connect, Target: "example.com"}, "ask ask ask ask deny allow"},
	} {
		var got []string
		for _, m := range strings.Fields(modes) {
			d := Policy{}.Decide(t.Context(), policy.Query{Tool: "t", Accesses: []policy.Access{c.access}, Mode: policy.Mode(m), Workspace: c.workspace})
			got = append(got, d.Verdict.String())
			if d.Rule == "" || d.Reason == "" || d.Code == "" {
				t.Errorf("%s in mode %s: %+v says too little", c.name, m, d)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s (%s): got %s, want %s", c.name, modes, s, c.want)
		}
	}
	if d := decide(t, policy.ModePlan, Policy{}, command("make")); !strings.Contains(d.Reason, "plan mode") {
		t.Errorf("plan mode is not named: %+v", d)
	}
}

func TestPolicy_Rules(t *testing.T) {
	for _, c := range []struct {
		rules  string // separated by "; "
		access policy.Access
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
		{"allow Edit(.git/config)", policy.Access{Kind: policy.Write, Target: "/repo/.git/config"}, "allow", "Edit(.git/config)"},
		{"allow Edit", policy.Access{Kind: policy.Write, Target: "/repo/.git/config"}, "deny", "protected .git"},
		{"allow Edit(**)", policy.Access{Kind: policy.Write, Target: "/repo/.git/config"}, "deny", ""},
		{"allow Bash(curl:*)", command("curl -o .git/hooks/post-merge x"), "ask", ""},
		{"allow Edit(src/**)", policy.Access{Kind: policy.Write, Target: "/repo/src/a"}, "allow", ""},
		{"allow Edit(src/**)", policy.Access{Kind: policy.Write, Target: "/repo/x/src/a"}, "ask", ""},
		{"allow Edit(*.md)", policy.Access{Kind: policy.Write, Target: "/repo/x/a.md"}, "allow", ""},
		{"allow Edit(/*.md)", policy.Access{Kind: policy.Write, Target: "/repo/x/a.md"}, "ask", ""},
		{"allow Read(//etc/hosts)", command("cat /etc/hosts"), "allow", ""},
		{"allow Read(~/notes)", command("grep x ~/notes/a"), "allow", ""},
		{"deny Read(.env)", command("cat .env"), "deny", "Read(.env)"},
		{"deny Read(.env)", command("head -1 < sub/.env"), "deny", ""},
		{"deny Read(.env)", command("cp .env a"), "deny", ""},
		{"deny Read(.env); allow Read(.env)", policy.Access{Kind: policy.Read, Target: "/repo/.env"}, "deny", ""},
		{"deny Read(secrets/)", policy.Access{Kind: policy.Read, Target: "/repo/secrets/deep/x"}, "deny", ""},
		{"ask Read(a); allow Read(a)", policy.Access{Kind: policy.Read, Target: "/repo/a"}, "ask", "Read(a)"},
		{"deny Bash(rm -rf:*)", command("rm -fr a"), "deny", ""},
		{"deny Bash(rm -rf:*)", command("/bin/rm --recursive -f a"), "deny", ""},
		{"deny Bash(rm:*)", command("find . -exec rm {} +"), "deny", ""},
		{"deny Bash(rm:*)", command("ls | xargs rm"), "deny", ""},
		{"deny Bash(rm:*)", command("ls $(rm a)"), "deny", ""},
		{"deny Bash(git push:*)", command("git -C . --no-pager push"), "deny", ""},
		{"deny Bash(git push:*)", command("git log push"), "allow", ""},
		{"deny Bash(rm:*); allow Bash", command("$x a"), "ask", ""},
		{"deny Bash", policy.Access{Kind: policy.Input, Target: "process 1 (python3): x"}, "deny", "Bash"},
		{"allow Bash", policy.Access{Kind: policy.Input, Target: "process 1 (python3): x"}, "ask", ""},
		{"deny some_tool", policy.Access{Kind: policy.Read, Target: "/repo/a"}, "deny", "some_tool"},
		{"ask some_tool", policy.Access{Kind: policy.Read, Target: "/repo/a"}, "ask", "some_tool"},
		{"allow some_tool", policy.Access{Kind: policy.Connect, Target: "x"}, "allow", "some_tool"},
		{"allow some_tool", policy.Access{Kind: policy.Write, Target: "/repo/.git/x"}, "deny", ""},
		{"allow WebFetch(domain:go.dev)", policy.Access{Kind: policy.Connect, Target: "https://go.dev/x"}, "allow", ""},
		{"allow WebFetch(domain:go.dev)", policy.Access{Kind: policy.Connect, Target: "evil-go.dev:443"}, "ask", ""},
		{"allow WebFetch(domain:go.dev)", policy.Access{Kind: policy.Connect, Target: "go.dev.evil.com"}, "ask", ""},
		{"allow WebFetch(domain:go.dev)", policy.Access{Kind: policy.Connect, Target: "https://go.dev@evil.com"}, "ask", ""},
		{"allow WebFetch(domain:go.dev)", policy.Access{Kind: policy.Connect, Target: "x.go.dev"}, "ask", ""},
		{"allow WebFetch(domain:*.go.dev)", policy.Access{Kind: policy.Connect, Target: "x.GO.dev."}, "allow", ""},
		{"deny WebFetch(domain:go.dev)", policy.Access{Kind: policy.Connect, Target: "x.go.dev"}, "deny", ""},
	} {
		d := decide(t, policy.ModeDefault, rules(t, strings.Split(c.rules, "; ")...), c.access)
		if d.Verdict.String() != c.want || c.rule != "" && d.Rule != c.rule {
			t.Errorf("%s: %s: got %+v, want %s by %q", c.rules, c.access, d, c.want, c.rule)
		}
	}
}

func TestPolicy_PlanModeAllowsNoChangesByRule(t *testing.T) {
	r := rules(t, "allow Bash(make:*)", "allow Edit", "allow some_tool", "allow Read(/etc/**)")
	for _, a := range []policy.Access{command("make"), {Kind: policy.Write, Target: "/repo/a"}, {Kind: policy.Connect, Target: "x"}} {
		if d := decide(t, policy.ModePlan, r, a); d.Verdict != policy.Ask {
			t.Errorf("%s: got %+v, want ask", a, d)
		}
	}
}

func TestPolicy_ServersOfMCPTools(t *testing.T) {
	for rule, want := range map[string]policy.Verdict{"mcp__files": policy.Allow, "mcp__files__*": policy.Allow, "mcp__files__read": policy.Allow, "mcp__file": policy.Ask, "mcp__files__rea": policy.Ask} {
		d := rules(t, "allow "+rule).Decide(t.Context(), policy.Query{Tool: "mcp__files__read", Workspace: place})
		if d.Verdict != want {
			t.Errorf("%s: got %+v, want %v", rule, d, want)
		}
	}
}

func TestParse_Mistakes(t *testing.T) {
	for text, says := range map[string]string{
		"": "invalid rule", "Bash(ls": "closing parenthesis", "Bash()": "empty", "WebFetch(go.dev)": "domain:HOST", "WebSearch(domain:go.dev)": "takes no pattern", "WebFetch(domain:a*.b)": "domain:",
		"Read(!x)": "negated", "Read([)": "malformed", "Bash(a * b:*)": "either", "two words": "tool name", "(x)": "tool name",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}

func TestSuggest_GrantsWhatItSaysAndNoMore(t *testing.T) {
	for _, c := range []struct {
		access policy.Access
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
		{policy.Access{Kind: policy.Write, Target: "/repo/a"}, "Edit(/**)", "make"},
		{policy.Access{Kind: policy.Write, Target: "/x"}, "", "make"},
		{policy.Access{Kind: policy.Read, Target: "/etc/x/y"}, "Read(//etc/x/**)", "cat /etc/z"},
		{policy.Access{Kind: policy.Connect, Target: "https://go.dev/a"}, "WebFetch(domain:go.dev)", "make"},
	} {
		q := policy.Query{Tool: "t", Accesses: []policy.Access{c.access}, Workspace: place}
		var got []string
		for _, s := range (Policy{}).Suggest(t.Context(), q) {
			if s.Text == "" {
				t.Errorf("%s: a suggestion says nothing: %v", c.access, s.Rules)
			}
			got = append(got, s.Rules...)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.access, got, c.want)
		}
		if d := (Policy{}).Allowing(got...).Decide(t.Context(), policy.Query{Tool: "t", Accesses: []policy.Access{command(c.not)}, Workspace: place}); d.Verdict == policy.Allow {
			t.Errorf("%s: %v also allow %s", c.access, got, c.not)
		}
	}
}

func TestSuggest_NamesAToolThatDoesNotDeclareItsAccesses(t *testing.T) {
	for _, c := range []struct {
		mode  policy.Mode
		rules string
		want  string
	}{{policy.ModeDefault, "", "mcp__s__t"}, {policy.ModePlan, "", ""}, {policy.ModeDefault, "deny mcp__s", ""}, {policy.ModeDefault, "ask mcp__s__t", ""}} {
		var p Policy
		if c.rules != "" {
			p = rules(t, c.rules)
		}
		var got []string
		for _, s := range p.Suggest(t.Context(), policy.Query{Tool: "mcp__s__t", Mode: c.mode, Workspace: place}) {
			got = append(got, s.Rules...)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.mode, c.rules, got, c.want)
		}
	}
}

func TestGrants_RulesHoldTogetherWithThePolicy(t *testing.T) {
	grants := policy.Grants{{Tool: "t", Rules: []string{"Bash(make:*)"}, Accesses: []policy.Access{command("make a")}, Rule: "approved: session"}}
	q := policy.Query{Tool: "other", Accesses: []policy.Access{command("make b")}, Workspace: place}
	if rule, ok := grants.Find(t.Context(), Policy{}, q); !ok || rule != "Bash(make:*)" {
		t.Errorf("got %q, %v", rule, ok)
	}
	if _, ok := grants.Find(t.Context(), rules(t, "deny Bash(make b)"), q); ok {
		t.Error("a grant overrides a rule that denies")
	}
	if _, ok := grants.Find(t.Context(), rules(t, "ask Bash(make b)"), q); ok {
		t.Error("a grant by rule overrides a rule that asks")
	}
	if _, ok := grants.Find(t.Context(), policy.AllowAll{}, policy.Query{Tool: "other", Accesses: []policy.Access{command("make b")}}); ok {
		t.Error("rules count without a policy of rules")
	}
}

func TestCompose(t *testing.T) {
	q := func(tool string, accesses ...policy.Access) policy.Query {
		return policy.Query{Tool: tool, Accesses: accesses, Workspace: place}
	}
	outside, write := policy.Access{Kind: policy.Read, Target: "/x"}, policy.Access{Kind: policy.Write, Target: "/repo/a"}
	deny := policy.Func(func(context.Context, policy.Query) policy.Decision { return policy.Decision{Rule: "never"} })
	for name, c := range map[string]struct {
		policy policy.Policy
		query  policy.Query
		want   policy.Verdict
		rule   string
	}{
		"only, listed":          {policy.Only("a", "b"), q("b", write), policy.Allow, "only"},
		"only, not listed":      {policy.Only("a", "b"), q("c"), policy.Deny, "only"},
		"except, listed":        {policy.Except("a"), q("a"), policy.Deny, "except"},
		"except, not listed":    {policy.Except("a"), q("b", write), policy.Allow, "except"},
		"read-only reads":       {ReadOnly(), q("a", outside, command("cat /etc/x | wc")), policy.Allow, ""},
		"read-only write":       {ReadOnly(), q("a", write), policy.Deny, "read-only"},
		"read-only undeclared":  {ReadOnly(), policy.Query{Tool: "a"}, policy.Deny, "read-only"},
		"read-only command":     {ReadOnly(), q("a", command("touch a")), policy.Deny, "read-only"},
		"all, the strictest":    {policy.All(policy.AllowAll{}, Policy{}, policy.Except("z")), q("a", write), policy.Ask, "mode default"},
		"all, a denial":         {policy.All(Policy{}, deny, policy.AllowAll{}), q("a", write), policy.Deny, "never"},
		"all, the first of two": {policy.All(policy.Only("a"), policy.AllowAll{}), q("a"), policy.Allow, "only"},
		"all of nothing":        {policy.All(), q("a"), policy.Deny, "all"},
	} {
		if d := c.policy.Decide(t.Context(), c.query); d.Verdict != c.want || c.rule != "" && d.Rule != c.rule {
			t.Errorf("%s: got %+v, want %v by %q", name, d, c.want, c.rule)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range policy.Modes {
		if got, err := policy.ParseMode(strings.ToUpper(string(m))); err != nil || got != m {
			t.Errorf("%s: got %v, %v", m, got, err)
		}
	}
	if m, err := policy.ParseMode(""); m != policy.ModeDefault || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := policy.ParseMode("yolo"); err == nil || !strings.Contains(err.Error(), "acceptEdits, plan") {
		t.Errorf("got %v", err)
	}
	if len(policy.Modes) != 6 || slices.Contains(policy.Modes, "") {
		t.Errorf("modes %v", policy.Modes)
	}
}

func TestPolicy_OtherShells(t *testing.T) {
	for shell, want := range map[string]string{"": "allow allow", "/bin/bash": "allow allow", "/bin/sh": "allow ask", "/bin/zsh": "ask ask", "/usr/bin/fish": "ask ask"} {
		w := place
		w.Shell = shell
		var got []string
		for _, line := range []string{"ls | head", "((1 + 1)); ls"} {
			d := Policy{}.Decide(t.Context(), policy.Query{Tool: "t", Accesses: []policy.Access{command(line)}, Workspace: w})
			got = append(got, d.Verdict.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", shell, got, want)
		}
	}
}

func TestPolicy_ConfigureAlwaysAsks(t *testing.T) {
	rule, err := Parse("some_tool")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range policy.Modes {
		want := policy.Ask
		if mode == policy.ModeDontAsk {
			want = policy.Deny
		}
		if d := decide(t, mode, Policy{Allow: []Rule{rule}}, policy.Access{Kind: policy.Configure, Target: "model = x"}); d.Verdict != want {
			t.Errorf("mode %s: %+v, want %s", mode, d, want)
		}
	}
}

func TestPolicy_AllowedChangesAreNotRecordedAsReading(t *testing.T) {
	for _, mode := range []policy.Mode{policy.ModeAcceptEdits, policy.ModeAuto} {
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
			if d := decide(t, mode, Policy{}, command(c.line)); d.Verdict != policy.Allow || d.Code != c.code || d.Reason != c.reason {
				t.Errorf("%s in mode %s: got %+v, want %s: %s", c.line, mode, d, c.code, c.reason)
			}
		}
		if d := decide(t, mode, Policy{}, policy.Access{Kind: policy.Read, Target: "/repo/a"}, policy.Access{Kind: policy.Write, Target: "/repo/b"}); d.Code != "edits_inside" {
			t.Errorf("a tool that reads and writes, in mode %s: %+v", mode, d)
		}
	}
	r := rules(t, "allow Bash(make:*)")
	for _, line := range []string{"ls; make", "make; ls"} {
		if d := decide(t, policy.ModeDefault, r, command(line)); d.Code != "allowed_by_rule" || d.Rule != "Bash(make:*)" {
			t.Errorf("%s: got %+v, want the rule", line, d)
		}
	}
}

func TestPolicy_TheHostOfAURLFollowsTheLastAt(t *testing.T) {
	for _, c := range []struct{ rules, target, want string }{
		{"allow WebFetch(domain:go.dev)", "https://a@b@go.dev/", "allow"},
		{"allow WebFetch(domain:go.dev)", "https://x@go.dev@evil.com/", "ask"},
		{"deny WebFetch(domain:evil.com)", "https://go.dev@x@evil.com/", "deny"},
	} {
		if d := decide(t, policy.ModeDefault, rules(t, c.rules), policy.Access{Kind: policy.Connect, Target: c.target}); d.Verdict.String() != c.want {
			t.Errorf("%s: %s: got %+v, want %s", c.rules, c.target, d, c.want)
		}
	}
}

func TestPolicy_OnlyARuleThatNamesCredentialsAllowsReadingThem(t *testing.T) {
	const key = "/home/me/.ssh/config"
	for _, a := range []policy.Access{{Kind: policy.Read, Target: key}, command("cat " + key)} {
		for _, text := range []string{"allow Read", "allow Read(**)", "allow Read(//**)", "allow Read(~/**)", "allow some_tool"} {
			if d := decide(t, policy.ModeDefault, rules(t, text), a); d.Verdict != policy.Ask || d.Code != "reads_secret" {
				t.Errorf("%s with rule %q: got %+v, want a question", a, text, d)
			}
		}
		if d := decide(t, policy.ModeBypass, Policy{}, a); d.Verdict != policy.Ask {
			t.Errorf("%s in mode bypass: got %+v, want a question", a, d)
		}
		for _, text := range []string{"allow Read(~/.ssh/**)", "allow Read(//home/me/.ssh/config)"} {
			if d := decide(t, policy.ModeDefault, rules(t, text), a); d.Verdict != policy.Allow {
				t.Errorf("%s with rule %q: got %+v, want it allowed", a, text, d)
			}
		}
	}
	if d := decide(t, policy.ModeDefault, rules(t, "allow Read(//**)"), policy.Access{Kind: policy.Read, Target: "/home/me/notes"}); d.Verdict != policy.Allow {
		t.Errorf("a file without credentials: %+v", d)
	}
}
