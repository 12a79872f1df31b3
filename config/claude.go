package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// ClaudeFiles returns the Claude Code settings files whose permissions Load also reads: the user's and the project's.
func (src Sources) ClaudeFiles() (files []File) {
	getenv := src.getenv()
	dir := getenv("CLAUDE_CONFIG_DIR")
	if home := cmp.Or(getenv("HOME"), getenv("USERPROFILE")); dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	user := filepath.Join(dir, "settings.json")
	if dir != "" {
		files = append(files, File{Layer: LayerUser, Path: user})
	}
	if src.Dir == "" {
		return files
	}
	for _, f := range []File{
		{Layer: LayerProject, name: ".claude/settings.json"},
		{Layer: LayerLocal, name: ".claude/settings.local.json"},
	} {
		if f.root, f.Path = src.Dir, filepath.Join(src.Dir, f.name); f.Path != user {
			files = append(files, f)
		}
	}
	return files
}

// claude applies the permissions in the Claude Code settings for a layer. Settings without effect are reported, but are
// never an error, because other programs own these files.
func (s *Settings) claude(src Sources, of Layer) {
	for _, f := range src.ClaudeFiles() {
		if info, err := os.Lstat(f.Path); f.Layer != of || err == nil && info.IsDir() {
			continue // a sandbox may hold a missing file's name with a directory
		}
		l := &layer{source: Origin{Layer: of, Name: f.Path}, keys: map[string]place{}, items: map[string][]place{}}
		c := claudeLayer{layer: l, settings: s, trusted: src.Trusted}
		data, err := f.read()
		if err == nil {
			err = c.read(data)
		}
		if err != nil {
			c.note("permissions", err.Error()+"; its rules, also those that deny, do not apply")
			continue
		}
		s.apply(c.layer)
	}
}

// claudeLayer is a Claude Code settings file.
type claudeLayer struct {
	*layer
	settings *Settings
	trusted  bool
}

func (c *claudeLayer) note(key, reason string) {
	c.settings.Notes = append(c.settings.Notes, Note{key, c.source, reason})
}

// read reads the permissions in a file.
func (c *claudeLayer) read(data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var file struct {
		Permissions map[string]json.RawMessage `json:"permissions"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("it is not valid JSON of Claude Code: %w", err)
	}
	p := &c.config.Permissions
	lists := map[string]*[]string{"allow": &p.Allow, "ask": &p.Ask, "deny": &p.Deny}
	for _, key := range slices.Sorted(maps.Keys(file.Permissions)) {
		value := file.Permissions[key]
		switch list := lists[key]; {
		case list != nil:
			c.rules(key, value, list)
		case key == "defaultMode":
			c.mode(value)
		case key == "additionalDirectories":
			c.directories(value)
		default:
			c.note("permissions."+key, "it is not supported")
		}
	}
	return nil
}

// rules reads a rule list.
func (c *claudeLayer) rules(name string, value json.RawMessage, list *[]string) {
	key := "permissions." + name
	var rules []json.RawMessage
	if err := json.Unmarshal(value, &rules); err != nil {
		c.note(key, "it is not a list of rules")
		return
	}
	if name == "allow" && c.project() && !c.trusted {
		if len(rules) > 0 {
			c.note(key, untrusted)
		}
		return
	}
	for _, raw := range rules {
		text := string(raw)
		err := json.Unmarshal(raw, &text)
		if err == nil {
			err = claudeRule(text)
		}
		if err != nil {
			reason := err.Error()
			if name == "deny" {
				reason += "; Reins does not deny these calls"
			}
			c.note(key+" "+brief(text), reason)
			continue
		}
		*list = append(*list, text)
		c.keys[key] = place{}
		c.items[key] = append(c.items[key], place{})
	}
}

// claudeRule returns why a Claude Code rule cannot be used.
func claudeRule(text string) error {
	r, err := rules.Parse(text)
	if err != nil {
		return err
	}
	if r.Check(policy.Deny) != nil {
		return errors.New("a rule of Claude Code cannot say where commands run")
	}
	if r.Tool() != "" && r.Specific() {
		return fmt.Errorf("rules for %s cannot have a pattern", r.Tool())
	}
	return nil
}

// mode reads the default mode, which can only make the mode stricter.
func (c *claudeLayer) mode(value json.RawMessage) {
	const key = "permissions.mode"
	now := c.settings.Permissions.Mode
	var mode string
	if err := json.Unmarshal(value, &mode); err != nil || !slices.Contains(policy.Modes, policy.Mode(mode)) {
		c.note("permissions.defaultMode "+brief(strings.Trim(string(value), `"`)), "it is unknown")
		return
	}
	c.config.Permissions.Mode = mode
	f, err := findField(key)
	switch {
	case err != nil || mode == now:
	case c.project() && !c.trusted:
		c.note("permissions.defaultMode "+mode, untrusted)
	case !stricter(f.in(&c.config), f.in(&c.settings.Config)):
		c.note("permissions.defaultMode "+mode, fmt.Sprintf(
			"settings of Claude Code can only make the mode stricter than %s; set %s in your user configuration", now, key))
	default:
		c.keys[key] = place{}
	}
}

// directories reads further directories that count as inside the workspace. Only the user can add them.
func (c *claudeLayer) directories(value json.RawMessage) {
	const key = "permissions.additional_directories"
	var dirs []string
	switch err := json.Unmarshal(value, &dirs); {
	case err != nil:
		c.note("permissions.additionalDirectories", "it is not a list of directories")
	case c.project() && len(dirs) > 0:
		c.note("permissions.additionalDirectories", "a project cannot set it; set "+key+" in your user configuration")
	default:
		for range dirs {
			c.keys[key] = place{}
			c.items[key] = append(c.items[key], place{})
		}
		c.config.Permissions.AdditionalDirectories = dirs
	}
}
