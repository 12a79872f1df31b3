package policy

import (
	"errors"
	"strings"
)

// ParseRules parses rules in the syntax of [ParseRule]. A rule may begin with its list, as in "allow Bash(go test:*)",
// "ask Bash(git push:*)" or "deny Read(.env)". Otherwise it allows. The error reports every invalid rule.
func ParseRules(texts ...string) (Rules, error) {
	var rules Rules
	var problems []error
	for _, text := range texts {
		list, text := rules.list(strings.TrimSpace(text))
		r, err := ParseRule(text)
		*list = append(*list, r)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return Rules{}, err
	}
	return rules, rules.Check()
}

// MustRules is like [ParseRules] but panics if a rule is invalid. It is for rules that are part of a program.
func MustRules(texts ...string) Rules {
	rules, err := ParseRules(texts...)
	if err != nil {
		panic("policy: " + err.Error())
	}
	return rules
}

// list returns the list named by the first word, and the rest of the rule.
func (rules *Rules) list(text string) (*[]Rule, string) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "allow":
		return &rules.Allow, rest
	case "ask":
		return &rules.Ask, rest
	case "deny":
		return &rules.Deny, rest
	}
	return &rules.Allow, text
}
