package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
)

// withholds returns an option in a command that the rule does not grant, or "". A rule that leaves words open does not
// grant options that run other programs or write elsewhere, unless its own text names them.
func (r Rule) withholds(e shell.Effect) string {
	if r.everything() || !r.prefix && r.wild == "" {
		return ""
	}
	words := slices.Clone(e.Words)
	for {
		option, ok := shell.Widening(words)
		if !ok {
			return ""
		}
		at := slices.IndexFunc(words, func(w string) bool { return carries(w, option) })
		switch {
		case at < 1 || option == shell.Unset || !r.namesOption(option):
			return option
		case option[0] != '-': // a script, which is the command's only effect
			return ""
		}
		words = slices.Delete(words, at, at+1)
	}
}

// namesOption reports whether an option is part of the rule's text.
func (r Rule) namesOption(option string) bool {
	return slices.ContainsFunc(slices.Concat(r.words, strings.Fields(r.wild)), func(w string) bool { return carries(w, option) })
}

// carries reports whether a word is an option, also with a value or among other letters.
func carries(word, option string) bool {
	if word == option || strings.HasPrefix(word, option+"=") {
		return true
	}
	letter := len(option) == 2 && option[0] == '-' && option[1] != '-'
	return letter && len(word) > 2 && word[0] == '-' && word[1] != '-' && strings.Contains(word, option[1:])
}

// explain returns a question about a command. If a rule would answer it but for an option, the reason mentions that.
func (j *judge) explain(e shell.Effect, what string, question policy.Decision) policy.Decision {
	r, ok := find(j.rules.Allow, func(r Rule) bool { return r.grants(e) && r.withholds(e) != "" })
	if !ok || j.q.Mode == policy.ModePlan {
		return question
	}
	option := r.withholds(e)
	if option == shell.Unset {
		return j.asks("widens", fmt.Sprintf("%s: rule %s does not grant options that are only known when it runs", what, r))
	}
	reason := fmt.Sprintf("%s: rule %s does not grant %q, which may run a program or write elsewhere", what, r, option)
	if wanted := r.naming(e, option); wanted != "" {
		reason += "; " + wanted + " does"
	}
	return j.asks("widens", reason)
}

// naming returns a rule like r that also grants a command's option, or "" if no rule can.
func (r Rule) naming(e shell.Effect, option string) string {
	at := slices.IndexFunc(e.Words, func(w string) bool { return carries(w, option) })
	if at < 0 {
		return ""
	}
	text := "Bash(" + canonical(e.Words[:at+1]) + ":*)"
	if r.box != "" {
		text += "@" + string(r.box)
	}
	if wanted, err := Parse(text); err == nil && wanted.grants(e) && wanted.withholds(e) == "" {
		return text
	}
	return ""
}
