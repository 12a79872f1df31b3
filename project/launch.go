package project

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
)

// launchers are programs that download a server or start its container, with the subcommands that do so, if not all do.
var launchers = map[string][]string{
	"npx":     nil,
	"pnpx":    nil,
	"bunx":    nil,
	"uvx":     nil,
	"docker":  nil,
	"podman":  nil,
	"nerdctl": nil,
	"npm":     {"exec", "x"},
	"pnpm":    {"dlx"},
	"yarn":    {"dlx"},
	"bun":     {"x"},
	"pipx":    {"run"},
	"uv":      {"tool", "x"},
}

// Launcher returns the program that downloads the server or starts its container, or "". It needs the network, or for
// containers a system socket, which no sandbox has.
func (s Server) Launcher() (name string, container bool) {
	words := append([]string{s.Server.Command}, s.Server.Args...)
	if base(words[0]) == "cmd" && len(words) > 2 { // cmd /c npx …
		words = words[2:]
	}
	name = base(words[0])
	sub, ok := launchers[name]
	first := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") }) + 1
	if !ok || sub != nil && !slices.Contains(sub, words[first]) {
		return "", false
	}
	return name, name == "docker" || name == "podman" || name == "nerdctl"
}

func base(command string) string {
	name := strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
}

// serverMemory remembers a project's servers between runs, one file per server. Without a state directory it
// remembers nothing.
type serverMemory struct {
	state home.Dir
	root  string
}

// serverRecord holds saved facts about a server. It applies as long as the server has the same command.
type serverRecord struct {
	Project string `json:"project"`
	Server  string `json:"server"`
	Command string `json:"command"`           // a hash
	Allowed *bool  `json:"allowed,omitempty"` // to leave the sandbox; nil if the user has not answered
	Failure string `json:"failure,omitempty"` // why it could not be used in the last run
}

func (p *Project) serverMemory() serverMemory {
	state, err := p.State()
	if err != nil {
		return serverMemory{}
	}
	return serverMemory{state, p.Root}
}

// get returns the record for a server with exactly this command.
func (m serverMemory) get(f Server) serverRecord {
	fresh := serverRecord{Project: m.root, Server: f.Name, Command: f.exactly()}
	if m.state == "" {
		return fresh
	}
	data, err := os.ReadFile(m.state.MCPServer(m.root, f.Name))
	var r serverRecord
	if err != nil || json.Unmarshal(data, &r) != nil {
		return fresh
	}
	if r.Project != fresh.Project || r.Server != fresh.Server || r.Command != fresh.Command {
		return fresh
	}
	return r
}

func (m serverMemory) set(r serverRecord) error {
	if m.state == "" {
		return nil
	}
	file := m.state.MCPServer(m.root, r.Server)
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(file, append(data, '\n'), 0o600)
}

// exactly returns a hash over a server's file, program, arguments, variables, directory and address.
func (s Server) exactly() string {
	f := s.File
	data, _ := json.Marshal([]any{s.Origin.Name, f.Command, f.Args, f.Env, f.Dir, cmp.Or(f.URL, f.HTTPURL)}) // cannot fail
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Command returns the server's command with its variables, for a question. It has no secrets.
func (s Server) Command() string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(s.File.Env)) {
		words = append(words, k+"="+s.File.Env[k])
	}
	return show.OneLine(wire.Redact(strings.Join(append(append(words, s.File.Command), s.File.Args...), " ")))
}

// AskToLeave asks the user whether a server, which a program such as npx starts, may run outside the sandbox. With
// ErrUndecided, the server is not used, and the user is asked again the next time.
type AskToLeave func(s Server, program string) (bool, error)

// ErrUndecided means that the user answers later; see [Project.AllowServer].
var ErrUndecided = errors.New("the user has not answered yet")

// PermitServers decides about servers whose launcher cannot work in the sandbox: they leave it if the user has permitted
// that for the project, and are not used otherwise. ask is nil if the user cannot be asked.
func (p *Project) PermitServers(list []Server, box sandbox.Config, ask AskToLeave) error {
	for i := range list {
		f := &list[i]
		if f.Inactive != "" || f.Err != nil || f.Server.Command == "" || f.Server.Unconfined || box.Mode == "" {
			continue
		}
		name, container := f.Launcher()
		if name == "" || box.Network && !container {
			continue
		}
		if err := p.permit(f, name, container, ask); err != nil {
			return err
		}
	}
	return nil
}

// permit decides about one server.
func (p *Project) permit(f *Server, name string, container bool, ask AskToLeave) error {
	memory := p.serverMemory()
	r, later := memory.get(*f), false
	if r.Allowed == nil && ask != nil {
		yes, err := ask(*f, name)
		if later = errors.Is(err, ErrUndecided); err != nil && !later {
			return err
		}
		if !later {
			r.Allowed = &yes
			if err := memory.set(r); err != nil {
				return fmt.Errorf("cannot save the answer: %w", err)
			}
		}
	}
	if r.Allowed != nil && *r.Allowed {
		f.Server.Unconfined = true
		return nil
	}
	f.Leaves, f.Inactive = r.Allowed == nil && !later, name+" needs the network, which the sandbox does not have"
	if container {
		f.Inactive = name + " cannot start containers in the sandbox"
	}
	f.Inactive += fmt.Sprintf("; to run %s outside the sandbox: reins mcp allow %s", f.Command(), show.Quote(f.Name))
	return nil
}

// AllowServer records whether a server may leave the sandbox in this project.
func (p *Project) AllowServer(s Server, allowed bool) error {
	memory := p.serverMemory()
	r := memory.get(s)
	r.Allowed, r.Failure = &allowed, ""
	return memory.set(r)
}
