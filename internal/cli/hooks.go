package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
)

func newHooks(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "hooks", Short: "List and test hooks"}, newHooksList(h), newHooksTest(h))
}

// foundHook is a hook of the configuration or of Claude Code.
type foundHook struct {
	hook.Found
	origin config.Origin
	claude bool
}

const untrustedProject = `the project is not trusted; see "reins trust"`

// findHooks lists the hooks of the configuration and of Claude Code for a project, with those that are inactive.
func (h Host) findHooks(s *config.Settings, root string, trusted bool) ([]foundHook, error) {
	e, err := s.Get("hooks")
	if err != nil {
		return nil, err
	}
	var list []foundHook
	for i, c := range s.Hooks {
		f := foundHook{origin: e.Origins[i], Found: hook.Found{Hook: hook.Hook{
			Event: hook.Event(c.Event), Matcher: c.Matcher, Command: c.Command, Name: cmp.Or(c.Name, c.Command),
			Timeout: time.Duration(c.Timeout) * time.Second, OnError: hook.OnError(c.OnError),
		}}}
		if _, err := hook.New(f.Hook); err != nil {
			return nil, usagef("%s: %w", f.origin, err)
		}
		list = append(list, f)
	}
	of, err := h.claudeHooks(root)
	if err != nil && s.ClaudeHooks {
		return nil, usageError{err}
	}
	for _, f := range of {
		if !s.ClaudeHooks {
			f.Inactive = "claude_hooks is not set"
		}
		list = append(list, f)
	}
	for i := range list {
		if l := list[i].origin.Layer; !trusted && (l == config.LayerProject || l == config.LayerLocal) {
			list[i].Inactive = untrustedProject
		}
	}
	return list, nil
}

// claudeHooks reads Claude Code hooks, user settings first.
func (h Host) claudeHooks(root string) (list []foundHook, err error) {
	home := cmp.Or(h.Getenv("HOME"), h.Getenv("USERPROFILE"))
	dir := h.Getenv("CLAUDE_CONFIG_DIR")
	if dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	for _, f := range []struct {
		layer     config.Layer
		dir, name string
	}{
		{config.LayerUser, dir, "settings.json"}, {config.LayerProject, root, ".claude/settings.json"}, {config.LayerLocal, root, ".claude/settings.local.json"},
	} {
		if f.dir == "" {
			continue
		}
		path := filepath.Join(f.dir, f.name)
		data, err := readSettings(f.dir, f.name, f.layer == config.LayerUser)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var found []hook.Found
		if err == nil {
			found, err = hook.ReadClaude(data)
		}
		if err != nil {
			return list, fmt.Errorf("%s: %w", path, err)
		}
		for _, x := range found {
			list = append(list, foundHook{x, config.Origin{Layer: f.layer, Name: path}, true})
		}
	}
	return list, nil
}

// maxSettings is the maximum size of a settings file.
const maxSettings = 1 << 20

// readSettings reads a file in a directory. Only a file of the user may be a link that points outside the directory.
func readSettings(dir, name string, users bool) ([]byte, error) {
	open := os.OpenFile
	path := filepath.Join(dir, name)
	if !users {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		open, path = root.OpenFile, name
	}
	file, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a named pipe must not wait
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("not a regular file"))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSettings+1))
	if err == nil && len(data) > maxSettings {
		err = errors.New("larger than 1 MiB")
	}
	return data, err
}

// hooks returns the hooks of a session in a directory, and reports hooks of Claude Code that cannot run.
func (h Host) hooks(s *config.Settings, dir string, trusted bool) (*hook.Set, error) {
	src, err := h.sources(dir, nil)
	if err != nil {
		return nil, err
	}
	list, err := h.findHooks(s, src.Dir, trusted)
	if err != nil {
		return nil, err
	}
	var active []hook.Hook
	for _, f := range list {
		switch {
		case f.Inactive == "":
			active = append(active, f.Hook)
		case f.claude && s.ClaudeHooks && f.Inactive != untrustedProject:
			notef(h, "%s: a %s hook does not run: %s", shortDir(h, f.origin.String()), f.Event, f.Inactive)
		}
	}
	if len(active) == 0 {
		return nil, nil
	}
	set, err := hook.New(active...)
	if err != nil {
		return nil, usageError{err}
	}
	return set.InProject(src.Dir), nil
}

// hookJSON is a hook as JSON.
type hookJSON struct {
	Event   hook.Event    `json:"event"`
	Matcher string        `json:"matcher"`
	Command string        `json:"command"`
	Name    string        `json:"name"`
	Timeout float64       `json:"timeout,omitempty"` // seconds
	OnError hook.OnError  `json:"on_error,omitempty"`
	Origin  config.Origin `json:"origin"`
	Active  bool          `json:"active"`
	Reason  string        `json:"reason,omitempty"` // why it is not
}

func newHooksList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the active and inactive hooks for this project",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			list, err := h.allHooks()
			if err != nil {
				return err
			}
			t := &show.Table{Columns: []show.Column{{Title: "EVENT", Colour: show.Cyan}, {Title: "MATCHER"}, {Title: "COMMAND"}, {Title: "FROM"}, {Title: "STATE"}}}
			for _, f := range list {
				f.Command, f.Name = wire.Redact(f.Command), wire.Redact(f.Name)
				if asJSON {
					j := hookJSON{f.Event, f.Matcher, f.Command, f.Name, f.Timeout.Seconds(), f.OnError, f.origin, f.Inactive == "", f.Inactive}
					if err := printJSON(h.Stdout, j); err != nil {
						return err
					}
					continue
				}
				f.origin.Name = shortDir(h, f.origin.Name)
				t.Add(string(f.Event), f.Matcher, f.Command, f.origin.String(), strings.TrimSuffix(map[bool]string{true: "active", false: "inactive: "}[f.Inactive == ""]+f.Inactive, ": "))
			}
			if asJSON {
				return nil
			}
			return printList(h, t, "no hooks")
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// allHooks lists the hooks for the current directory, including those of an untrusted project.
func (h Host) allHooks() ([]foundHook, error) {
	src, err := h.sources(".", nil)
	if err != nil {
		return nil, err
	}
	src.Trusted = true // to list the hooks that trusting the project would enable
	s, err := config.Load(src)
	if err != nil {
		return nil, usageError{err}
	}
	return h.findHooks(s, src.Dir, h.trusted("."))
}
