package project

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/chatgpt"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/skill"
)

// Machine is where projects are used: the environment variables and the user's files. The zero value is the
// environment of this process.
type Machine struct {
	// Getenv returns environment variables. It defaults to os.Getenv.
	Getenv func(string) string
	// SystemDir has the system configuration; "" means the standard directory.
	SystemDir string
	// Version is what MCP servers are told about the host.
	Version string
	// ChatGPT is where to sign in with ChatGPT; zero means OpenAI.
	ChatGPT chatgpt.Service
	// Stderr gets what commands that print keys write to standard error. Nil discards it.
	Stderr io.Writer
	// Now returns the time, for models that end. It defaults to time.Now.
	Now func() time.Time
}

// Error is a mistake that the user can correct: in a file, a setting, a variable or an argument.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func mistake(err error) error { return &Error{err} }

func mistakef(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

func (m Machine) getenv(name string) string {
	if m.Getenv == nil {
		return os.Getenv(name)
	}
	return m.Getenv(name)
}

func (m Machine) time() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// home returns the home directory as other agents find it, or "".
func (m Machine) home() string { return cmp.Or(m.getenv("HOME"), m.getenv("USERPROFILE")) }

// State returns the state directory, which may not exist yet.
func (m Machine) State() (home.Dir, error) {
	dir, err := home.Find(m.getenv)
	if err != nil {
		return "", mistake(err)
	}
	return dir, nil
}

// Short abbreviates the home directory in a path to ~.
func (m Machine) Short(path string) string {
	home := m.getenv("HOME")
	if runtime.GOOS == "windows" {
		home = cmp.Or(m.getenv("USERPROFILE"), home)
	}
	if home == "" {
		return path
	}
	switch rel, err := filepath.Rel(home, path); {
	case err != nil || !filepath.IsLocal(rel):
		return path
	case rel == ".":
		return "~"
	default:
		return fmt.Sprintf("~%c%s", filepath.Separator, rel)
	}
}

// Sources returns the configuration sources for a directory, whose project is not trusted.
func (m Machine) Sources(dir string) (config.Sources, error) {
	root, err := config.Root(cmp.Or(dir, "."))
	if err != nil {
		return config.Sources{}, mistake(err)
	}
	return config.Sources{Dir: root, Getenv: m.getenv, SystemDir: m.SystemDir}, nil
}

// ConfigFile returns a layer's configuration file for a directory. It may not exist.
func (m Machine) ConfigFile(dir string, layer config.Layer) (config.File, error) {
	src := config.Sources{Getenv: m.getenv, SystemDir: m.SystemDir}
	if layer != config.LayerUser {
		var err error
		if src, err = m.Sources(dir); err != nil {
			return config.File{}, err
		}
	}
	for _, f := range src.Files() {
		if f.Layer == layer {
			return f, nil
		}
	}
	return config.File{}, mistakef("no %s configuration file: HOME is not set; set HOME, or set REINS_CONFIG to a file", layer)
}

// ServersFile returns the path of the user's MCP server list.
func (m Machine) ServersFile() (string, error) {
	f, err := m.ConfigFile("", config.LayerUser)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(f.Path), "mcp.json"), nil
}

// Skills returns where to look for the user's skills.
func (m Machine) Skills() skill.Options {
	o := skill.Options{Home: m.home(), Claude: m.getenv("CLAUDE_CONFIG_DIR"), Codex: m.getenv("CODEX_HOME")}
	if f, err := m.ConfigFile("", config.LayerUser); err == nil {
		o.Config = filepath.Dir(f.Path)
	}
	return o
}

// docs returns the files with the user's own instructions for agents. They may not exist. Later files take
// precedence.
func (m Machine) docs() (files []string) {
	o := m.Skills()
	add := func(dir string, names ...string) {
		if dir != "" {
			files = append(files, filepath.Join(append([]string{dir}, names...)...))
		}
	}
	if o.Home != "" {
		add(o.Home, ".copilot", "copilot-instructions.md")
		add(o.Home, ".config", "opencode", "AGENTS.md")
		add(o.Home, ".gemini", "GEMINI.md")
		o.Codex, o.Claude = cmp.Or(o.Codex, filepath.Join(o.Home, ".codex")), cmp.Or(o.Claude, filepath.Join(o.Home, ".claude"))
	}
	add(o.Codex, "AGENTS.md")
	add(o.Claude, "CLAUDE.md")
	add(o.Config, "AGENTS.md")
	return files
}

// Workspace returns the settings shared by every workspace: the home directory, and Reins's own files, which
// neither commands nor file tools may change.
func (m Machine) Workspace() (w policy.Workspace) {
	if home := m.getenv("HOME"); home != "" {
		w.Home = realpath.Resolve(home)
	}
	if state, err := m.State(); err == nil {
		for _, path := range state.Protected() {
			w.Protected = append(w.Protected, realpath.Resolve(path))
		}
	}
	if f, err := m.ConfigFile("", config.LayerUser); err == nil {
		w.Protected = append(w.Protected, realpath.Resolve(f.Path))
	}
	if dir := (config.Sources{Getenv: m.getenv}).PersonalDir(); dir != "" {
		w.Protected = append(w.Protected, realpath.Resolve(dir), realpath.Resolve(filepath.Join(filepath.Dir(dir), "profiles")))
	}
	for _, dir := range m.Skills().UserDirs() {
		w.Protected = append(w.Protected, realpath.Resolve(dir))
	}
	return w
}

// Grants returns the user's authorizations for MCP servers, or nil without a state directory.
func (m Machine) Grants() *mcp.Grants {
	dir, err := m.State()
	if err != nil {
		return nil
	}
	return &mcp.Grants{Dir: dir.MCPGrants()}
}

// Account returns the user's ChatGPT account. Without a state directory, it has no directory.
func (m Machine) Account() *chatgpt.Account {
	a := &chatgpt.Account{Service: m.ChatGPT}
	if dir, err := m.State(); err == nil {
		a.Dir = dir.Plans()
	}
	return a
}

// lost reports whether an error means that the working directory was removed.
func lost(err error) bool {
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "getwd"
}
