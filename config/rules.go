package config

import "fmt"

// text returns a rule in the syntax of Allow, Ask and Deny.
func (r Rule) text() (string, error) {
	inside, given := "", 0
	for _, s := range []struct{ prefix, text string }{{"", r.Command}, {"", r.Path}, {"domain:", r.Domain}} {
		if s.text != "" {
			inside, given = s.prefix+s.text, given+1
		}
	}
	switch given {
	case 0:
		return r.Tool, nil
	case 1:
		return r.Tool + "(" + inside + ")", nil
	}
	return "", fmt.Errorf("set only one of command, path and domain")
}

// moveRules moves rules that are tables to the lists of their decisions, and checks all rules.
func (l *layer) moveRules() error {
	p := &l.config.Permissions
	lists := map[string]*[]string{"allow": &p.Allow, "ask": &p.Ask, "deny": &p.Deny}
	for i, r := range p.Rules {
		at := l.items["permissions.rule"][i]
		text, err := r.text()
		if err != nil {
			return l.errorAt(at, "permissions.rule: %v", err)
		}
		key := "permissions." + r.Decision
		*lists[r.Decision] = append(*lists[r.Decision], text)
		l.items[key] = append(l.items[key], at)
		if _, set := l.keys[key]; !set {
			l.keys[key] = at
		}
	}
	p.Rules = nil
	delete(l.keys, "permissions.rule")
	for decision, list := range lists {
		for i, text := range *list {
			if err := checkRule(text); err != nil {
				return l.errorAt(l.items["permissions."+decision][i], "permissions.%s: %v", decision, err)
			}
		}
	}
	return nil
}

// checkRule returns an error for a rule that package policy would not understand.
func checkRule(text string) error {
	if text == "" {
		return fmt.Errorf("a rule is empty")
	}
	return nil
}
