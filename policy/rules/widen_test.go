package rules

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

func TestPolicy_OpenRulesDoNotGrantOptionsThatRunProgramsOrWriteElsewhere(t *testing.T) {
	for _, c := range []struct{ rule, line, option string }{
		{"Bash(rg:*)", "rg --pre ./evil x", "--pre"},
		{"Bash(rg:*)", "rg x --pre=./evil", "--pre"},
		{"Bash(git diff:*)", "git diff --ext-diff", "--ext-diff"},
		{"Bash(git diff:*)", "git diff --output=x", "--output"},
		{"Bash(git *)", "git diff --output x", "--output"},
		{"Bash(git * main)", "git diff --ext-diff main", "--ext-diff"},
		{"Bash(git:*)", "git -c core.pager=./evil log", "-c"},
		{"Bash(sed -n:*)", "sed -n 'w out' a", "w out"},
		{"Bash(sed -n:*)", "sed -n -i p a", "-i"},
		{"Bash(sed:*)", "sed '1e ./evil' a", "1e ./evil"},
		{"Bash(find:*)", "find . -fprint out", "-fprint"},
		{"Bash(go test:*)", "go test -exec ./evil ./...", "-exec"},
		{"Bash(go test:*)", "go test -toolexec=./evil ./...", "-toolexec"},
		{"Bash(go test:*)", "go test --toolexec=./evil ./...", "--toolexec"},
		{"Bash(sort:*)", "sort -o out a", "-o"},
		{"Bash(timeout 9 rg:*)", "timeout 9 rg --pre ./evil x", "--pre"},
		{"Bash(rg:*)", "timeout 9 rg --pre ./evil x", "--pre"},
		{"Bash(rg:*)@outside", "rg --pre ./evil x", "--pre"},
		{"Bash(git diff --output:*)", "git diff --output x --ext-diff", "--ext-diff"},
	} {
		d := decide(t, policy.ModeDefault, rules(t, "allow "+c.rule), command(c.line))
		if d.Verdict != policy.Ask || !strings.Contains(d.Reason, `"`+c.option+`"`) {
			t.Errorf("%s: %s: got %+v, want a question that names %q", c.rule, c.line, d, c.option)
		}
	}
}

func TestPolicy_RulesThatNameAnOptionGrantIt(t *testing.T) {
	for _, c := range []struct{ rule, line string }{
		{"Bash(rg --pre:*)", "rg --pre ./x y"},
		{"Bash(rg --pre ./x y)", "rg --pre ./x y"},
		{"Bash(git diff --output:*)", "git diff --output x"},
		{"Bash(git diff --output=x:*)", "git diff --output=x"},
		{"Bash(git * --output *)", "git diff --output x"},
		{"Bash(sed -i:*)", "sed -i s/a/b/ f"},
		{"Bash(sed -n 'w out':*)", "sed -n 'w out' a"},
		{"Bash(sort -uo:*)", "sort -uo out a"},
		{"Bash(go test -exec:*)", "go test -exec ./x ./..."},
		{"Bash", "rg --pre ./x y"},
		{"Bash(*)", "git diff --ext-diff --output=x"},
		{"Bash(rg:*)", "rg -n x"},
		{"Bash(go test:*)", "go test -race -run X ./..."},
		{"Bash(git commit:*)", "git commit -m \"$(cat <<'E'\nx\nE\n)\""},
		{"Bash(git diff:*)", "git diff --stat HEAD~1 -- a"},
	} {
		if d := decide(t, policy.ModeDefault, rules(t, "allow "+c.rule), command(c.line)); d.Verdict != policy.Allow {
			t.Errorf("%s: %s: got %+v, want allow", c.rule, c.line, d)
		}
	}
}

func TestPolicy_AWithheldOptionComesWithTheRuleThatGrantsIt(t *testing.T) {
	for _, c := range []struct{ rule, line, want string }{
		{"Bash(rg:*)", "rg --pre ./x y", "Bash(rg --pre:*)"},
		{"Bash(git:*)", "git diff HEAD --output=x", "Bash(git diff HEAD '--output=x':*)"},
		{"Bash(go test:*)@outside", "go test -exec ./x", "Bash(go test -exec:*)@outside"},
		{"Bash(sed -n:*)", "sed -n 'w out' a", "Bash(sed -n 'w out':*)"},
	} {
		d := decide(t, policy.ModeDefault, rules(t, "allow "+c.rule), command(c.line))
		if d.Code != "widens" || !strings.Contains(d.Reason, "rule "+c.rule+" does not grant") || !strings.HasSuffix(d.Reason, "; "+c.want+" does") {
			t.Errorf("%s: %s: got %+v, want the rule %s", c.rule, c.line, d, c.want)
		}
		if d := decide(t, policy.ModeDefault, rules(t, "allow "+c.want), command(c.line)); d.Verdict != policy.Allow {
			t.Errorf("%s: %s: got %+v, want allow", c.want, c.line, d)
		}
	}
}

func TestPolicy_WithheldOptionsAreStillForTheMode(t *testing.T) {
	r := rules(t, "allow Bash(sort:*)")
	if d := decide(t, policy.ModeAcceptEdits, r, command("sort -o out a")); d.Verdict != policy.Allow || d.Code != "edits_inside" {
		t.Errorf("a write inside in acceptEdits: %+v", d)
	}
	if d := decide(t, policy.ModeDontAsk, r, command("sort -o out a")); d.Verdict != policy.Deny || !strings.Contains(d.Reason, "-o") {
		t.Errorf("dontAsk: %+v", d)
	}
	if d := decide(t, policy.ModePlan, r, command("sort -o out a")); d.Verdict != policy.Ask || strings.Contains(d.Reason, "does not grant") {
		t.Errorf("plan: %+v", d)
	}
}

func TestSuggest_OffersTheExactCommandIfAnOptionWidensIt(t *testing.T) {
	for line, want := range map[string]string{
		"go test -exec ./x ./...": "Bash(go test -exec ./x ./...)", "git push --receive-pack=./x": "Bash(git push '--receive-pack=./x')", "npm test --script-shell=./x": "Bash(npm test '--script-shell=./x')",
	} {
		if got := suggested(t, line); got != want {
			t.Errorf("%s: offered %q, want %q", line, got, want)
		}
	}
}
