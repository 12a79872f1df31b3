package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// text returns a rule in the syntax for Allow, Ask and Deny.
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
	return "", errors.New("set only one of command, path and domain")
}

// moveRules moves rules that are tables to the list for their decision, and checks all rules.
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
			if err := CheckRule(decision, text); err != nil {
				return l.errorAt(l.items["permissions."+decision][i], "permissions.%s: %v", decision, err)
			}
		}
	}
	return nil
}

// CheckRule returns an error if a rule is not valid in a list: allow, ask or deny.
func CheckRule(list, text string) error {
	var v policy.Verdict
	if err := v.UnmarshalText([]byte(list)); err != nil {
		return err
	}
	r, err := rules.Parse(text)
	if err != nil {
		return err
	}
	return r.Check(v)
}

// Policy returns the permission mode and rules.
func (s *Settings) Policy() (policy.Mode, rules.Policy, error) {
	p := s.Permissions
	mode, err := policy.ParseMode(p.Mode)
	if err != nil {
		return "", rules.Policy{}, err
	}
	var set rules.Policy
	for _, list := range []struct {
		texts []string
		rules *[]rules.Rule
	}{{p.Allow, &set.Allow}, {p.Ask, &set.Ask}, {p.Deny, &set.Deny}} {
		for i, text := range list.texts {
			r, err := rules.Parse(text)
			if err != nil {
				return "", rules.Policy{}, err
			}
			if from := s.origins["permissions.allow"]; list.rules == &set.Allow && i < len(from) && from[i].ofProject() {
				r = r.OfProject()
			}
			*list.rules = append(*list.rules, r)
		}
	}
	return mode, set, nil
}

// Paths returns the additional directories and the protected paths as absolute, real paths. Relative paths are relative
// to the project root, and ~ is the home directory.
func (s *Settings) Paths() (additional, protected []string) {
	for _, path := range s.Permissions.AdditionalDirectories {
		additional = append(additional, s.realPath(path))
	}
	for _, path := range s.Permissions.Protected {
		protected = append(protected, s.realPath(path))
	}
	return additional, protected
}

// SandboxPaths returns the paths that commands can additionally read, and the denied paths, resolved as in Paths.
func (s *Settings) SandboxPaths() (readable, denied []string) {
	for _, path := range s.Sandbox.Readable {
		readable = append(readable, s.realPath(path))
	}
	for _, path := range s.Sandbox.Denied {
		denied = append(denied, s.realPath(path))
	}
	return readable, denied
}

// SkillPaths returns the skill directories, resolved as in Paths.
func (s *Settings) SkillPaths() (dirs []string) {
	for _, path := range s.Skills.Paths {
		dirs = append(dirs, s.realPath(path))
	}
	return dirs
}

// CoderWritable returns the directories in coder.writable, resolved as in Paths.
func (s *Settings) CoderWritable() (dirs []string) {
	for _, path := range s.Coder.Writable {
		dirs = append(dirs, s.realPath(path))
	}
	return dirs
}

// realPath returns an absolute path without symbolic links. The path may not exist yet.
func (s *Settings) realPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) && s.home != "" {
		path = s.home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	return realpath.Resolve(path)
}
