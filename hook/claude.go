package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Found is a hook in a settings file.
type Found struct {
	Hook
	Inactive string // why it cannot run; "" if it can
}

// ReadClaude returns the hooks in a Claude Code settings file, grouped by event. Only command hooks can run; other
// hooks are returned with the reason in Inactive.
func ReadClaude(data []byte) (list []Found, err error) {
	var file struct {
		Disabled bool                     `json:"disableAllHooks"`
		Hooks    map[string][]claudeGroup `json:"hooks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("invalid Claude Code settings: %w", err)
	}
	for _, event := range slices.Sorted(maps.Keys(file.Hooks)) {
		for _, g := range file.Hooks[event] {
			for _, h := range g.Hooks {
				f := h.found(Event(event), g.Matcher)
				if file.Disabled {
					f.Inactive = "disableAllHooks is set"
				}
				list = append(list, f)
			}
		}
	}
	return list, nil
}

type claudeGroup struct {
	Matcher string       `json:"matcher"`
	Hooks   []claudeHook `json:"hooks"`
}

type claudeHook struct {
	Type      string   `json:"type"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Timeout   float64  `json:"timeout"` // seconds
	If        string   `json:"if"`
	Async     bool     `json:"async"`
	Rewake    bool     `json:"asyncRewake"`
	Shell     string   `json:"shell"`
	OnFailure string   `json:"onFailure"`
}

func (h claudeHook) found(e Event, matcher string) Found {
	f := Found{Hook: Hook{
		Event:   e,
		Matcher: matcher,
		Command: h.Command,
		Name:    h.Command,
		Timeout: time.Duration(h.Timeout * float64(time.Second)),
	}}
	if h.OnFailure == "block" {
		f.OnError = BlockOnError
	}
	_, err := compile(f.Hook)
	switch {
	case h.Type != "command":
		f.Inactive = fmt.Sprintf("hooks of type %q are not supported", h.Type)
	case h.Async || h.Rewake:
		f.Inactive = "async hooks are not supported"
	case h.If != "":
		f.Inactive = "conditions (if) are not supported"
	case h.Args != nil || h.Shell != "" && h.Shell != "bash":
		f.Inactive = "args and shell are not supported"
	case err != nil:
		f.Inactive = err.Error()
	}
	return f
}
