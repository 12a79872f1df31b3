package project

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/hook"
)

// untrusted is why a part of an untrusted project is not used.
const untrusted = `the project is not trusted; see "reins trust"`

// Hook is a configured hook or a Claude Code hook. Inactive is why it does not run, or "".
type Hook struct {
	hook.Found
	Origin config.Origin
	claude bool
}

// AllHooks lists configured hooks and Claude Code hooks, including inactive hooks.
func (p *Project) AllHooks() ([]Hook, error) {
	s := p.Settings
	e, err := s.Get("hooks")
	if err != nil {
		return nil, err
	}
	var list []Hook
	for i, c := range s.Hooks {
		f := Hook{Origin: e.Origins[i], Found: hook.Found{Hook: hook.Hook{
			Event:   hook.Event(c.Event),
			Matcher: c.Matcher,
			Command: c.Command,
			Name:    cmp.Or(c.Name, c.Command),
			Timeout: time.Duration(c.Timeout) * time.Second,
			OnError: hook.OnError(c.OnError),
		}}}
		if _, err := hook.New(f.Hook); err != nil {
			return nil, mistakef("%s: %w", f.Origin, err)
		}
		list = append(list, f)
	}
	of, err := p.claudeHooks()
	if err != nil && s.ClaudeHooks {
		return nil, mistake(err)
	}
	for _, f := range of {
		if !s.ClaudeHooks {
			f.Inactive = "claude_hooks is not set"
		}
		list = append(list, f)
	}
	for i := range list {
		if l := list[i].Origin.Layer; !p.Trusted && (l == config.LayerProject || l == config.LayerLocal) {
			list[i].Inactive = untrusted
		}
	}
	return list, nil
}

// claudeHooks reads Claude Code hooks, user settings first.
func (p *Project) claudeHooks() (list []Hook, err error) {
	dir := p.getenv("CLAUDE_CONFIG_DIR")
	if home := p.home(); dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	for _, f := range []struct {
		layer     config.Layer
		dir, name string
	}{
		{config.LayerUser, dir, "settings.json"},
		{config.LayerProject, p.Root, ".claude/settings.json"},
		{config.LayerLocal, p.Root, ".claude/settings.local.json"},
	} {
		if f.dir == "" {
			continue
		}
		path := filepath.Join(f.dir, f.name)
		data, err := ReadFile(f.dir, f.name, f.layer == config.LayerUser)
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
			list = append(list, Hook{x, config.Origin{Layer: f.layer, Name: path}, true})
		}
	}
	return list, nil
}

// maxSettings is the maximum size of a settings file.
const maxSettings = 1 << 20

// ReadFile reads a settings file in a directory. Only a user's file may be a link that points outside the directory.
func ReadFile(dir, name string, users bool) ([]byte, error) {
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

// Hooks returns the active hooks, or nil if there are none. It adds notes about Claude Code hooks that cannot run.
func (p *Project) Hooks() (*hook.Set, error) {
	list, err := p.AllHooks()
	if err != nil {
		return nil, err
	}
	var active []hook.Hook
	for _, f := range list {
		switch {
		case f.Inactive == "":
			active = append(active, f.Hook)
		case f.claude && p.Settings.ClaudeHooks && f.Inactive != untrusted:
			p.notef(NoteHook, "%s: a %s hook does not run: %s", p.Short(f.Origin.String()), f.Event, f.Inactive)
		}
	}
	if len(active) == 0 {
		return nil, nil
	}
	set, err := hook.New(active...)
	if err != nil {
		return nil, mistake(err)
	}
	return set.InProject(p.Root), nil
}
