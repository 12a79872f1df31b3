package rules

import (
	"errors"
	"strings"
)

// ParseAll parses rules in the syntax of [Parse]. A rule may begin with its list, as in "allow Bash(go test:*)",
// "ask Bash(git push:*)" or "deny Read(.env)". Otherwise it allows. The error reports every invalid rule.
func ParseAll(texts ...string) (Policy, error) {
	var p Policy
	var problems []error
	for _, text := range texts {
		list, text := p.list(strings.TrimSpace(text))
		r, err := Parse(text)
		*list = append(*list, r)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return Policy{}, err
	}
	return p, p.Check()
}

// Must is like [ParseAll] but panics if a rule is invalid. It is for rules that are part of a program.
func Must(texts ...string) Policy {
	p, err := ParseAll(texts...)
	if err != nil {
		panic("rules: " + err.Error())
	}
	return p
}

// list returns the list named by the first word, and the rest of the rule.
func (p *Policy) list(text string) (*[]Rule, string) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "allow":
		return &p.Allow, rest
	case "ask":
		return &p.Ask, rest
	case "deny":
		return &p.Deny, rest
	}
	return &p.Allow, text
}
