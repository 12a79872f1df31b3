package rules

import (
	"strings"
	"testing"
)

func TestParseAll_FirstWordChoosesTheList(t *testing.T) {
	rules, err := ParseAll("Bash(go test:*)", "allow Edit(docs/**)", " ask Bash(git push:*)", "deny Read(.env)", "Bash(npm ls)@read")
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

func TestParseAll_ReportsEveryInvalidRule(t *testing.T) {
	rules, err := ParseAll("Bash(go test", "Read(.env)", "deny Edit()", "allow")
	if err == nil || len(rules.Allow)+len(rules.Deny) > 0 {
		t.Fatalf("got %+v, %v", rules, err)
	}
	for _, want := range []string{`"Bash(go test"`, `"Edit()"`, `""`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not report %s", err, want)
		}
	}
	if _, err := ParseAll("deny Bash(git push:*)@outside"); err == nil {
		t.Error("a rule that denies may say where commands run")
	}
}

func TestMust_PanicsWithTheReason(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, `rules: invalid rule "Bash("`) {
			t.Errorf("it panicked with %q", got)
		}
	}()
	Must("Bash(")
}
