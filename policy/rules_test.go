package policy

import (
	"strings"
	"testing"
)

func TestParseRules_FirstWordChoosesTheList(t *testing.T) {
	rules, err := ParseRules("Bash(go test:*)", "allow Edit(docs/**)", " ask Bash(git push:*)", "deny Read(.env)", "Bash(npm ls)@read")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		list []Rule
		want string
	}{
		"allow": {rules.Allow, "Bash(go test:*) Edit(docs/**) Bash(npm ls)@read"},
		"ask":   {rules.Ask, "Bash(git push:*)"},
		"deny":  {rules.Deny, "Read(.env)"},
	} {
		var texts []string
		for _, r := range c.list {
			texts = append(texts, r.String())
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestParseRules_ReportsEveryInvalidRule(t *testing.T) {
	rules, err := ParseRules("Bash(go test", "Read(.env)", "deny Edit()", "allow")
	if err == nil || len(rules.Allow)+len(rules.Deny) > 0 {
		t.Fatalf("got %+v, %v", rules, err)
	}
	for _, want := range []string{`"Bash(go test"`, `"Edit()"`, `""`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not report %s", err, want)
		}
	}
	if _, err := ParseRules("deny Bash(git push:*)@outside"); err == nil {
		t.Error("a rule that denies may say where commands run")
	}
}

func TestMustRules_PanicsWithTheReason(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, `policy: invalid rule "Bash("`) {
			t.Errorf("it panicked with %q", got)
		}
	}()
	MustRules("Bash(")
}
