package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/mcp"
)

// launchers are programs that download a server or start its container, with the subcommands that do so, if not all do.
var launchers = map[string][]string{
	"npx": nil, "pnpx": nil, "bunx": nil, "uvx": nil, "docker": nil, "podman": nil, "nerdctl": nil,
	"npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "pipx": {"run"}, "uv": {"tool", "x"},
}

// launcher returns the program that downloads the server or starts its container, or "". It needs the network, or for
// containers a socket of the system, which no sandbox has.
func launcher(s mcp.Server) (name string, container bool) {
	words := append([]string{s.Command}, s.Args...)
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

// serverMemory remembers the servers of a project between runs, one file for each. The zero value remembers nothing.
type serverMemory struct{ dir, root string }

// serverRecord is what is remembered about a server. It applies as long as the server has the same command.
type serverRecord struct {
	Project string `json:"project"`
	Server  string `json:"server"`
	Command string `json:"command"`           // a hash
	Allowed *bool  `json:"allowed,omitempty"` // to leave the sandbox; nil if the user has not answered
	Failure string `json:"failure,omitempty"` // why it could not be used in the last run
}

func (h Host) serverMemory(root string) serverMemory {
	dir, err := stateDir(h)
	if err != nil {
		return serverMemory{}
	}
	return serverMemory{dir.MCPServers(), root}
}

func (m serverMemory) file(name string) string {
	sum := sha256.Sum256([]byte(m.root + "\x00" + name))
	return filepath.Join(m.dir, hex.EncodeToString(sum[:16])+".json")
}

// get returns what is remembered about a server with exactly this command.
func (m serverMemory) get(f foundServer) serverRecord {
	fresh := serverRecord{Project: m.root, Server: f.name, Command: f.exactly()}
	data, err := os.ReadFile(m.file(f.name))
	var r serverRecord
	if m.dir == "" || err != nil || json.Unmarshal(data, &r) != nil {
		return fresh
	}
	if r.Project != fresh.Project || r.Server != fresh.Server || r.Command != fresh.Command {
		return fresh
	}
	return r
}

func (m serverMemory) set(r serverRecord) error {
	if m.dir == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(m.dir, 0o700)
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(m.file(r.Server), append(data, '\n'), 0o600)
}

// exactly returns a hash of the file, program, arguments, variables, directory and address of a server.
func (f foundServer) exactly() string {
	s := f.file
	data, _ := json.Marshal([]any{f.origin.Name, s.Command, s.Args, s.Env, s.Dir, cmp.Or(s.URL, s.HTTPURL)}) // cannot fail
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// shownCommand returns the command of a server with its variables, for a question.
func (f foundServer) shownCommand() string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(f.file.Env)) {
		words = append(words, k+"="+f.file.Env[k])
	}
	return show.OneLine(wire.Redact(strings.Join(append(append(words, f.file.Command), f.file.Args...), " ")))
}

// permitServers is permitLaunchers for the servers of a directory.
func (h Host) permitServers(list []foundServer, dir string, box sandbox.Config, ask func(foundServer, string) (bool, error)) error {
	root, err := config.Root(dir)
	if err != nil {
		return usageError{err}
	}
	return permitLaunchers(list, box, h.serverMemory(root), ask)
}

// permitLaunchers decides about servers whose launcher cannot work in the sandbox: they leave it if the user has
// permitted that for the project, and are not used otherwise. The ask function asks the user; it is nil if it cannot.
func permitLaunchers(list []foundServer, box sandbox.Config, memory serverMemory, ask func(foundServer, string) (bool, error)) error {
	for i := range list {
		f := &list[i]
		if f.inactive != "" || f.err != nil || f.server.Command == "" || f.server.Unconfined || box.Mode == "" {
			continue
		}
		name, container := launcher(f.server)
		if name == "" || box.Network && !container {
			continue
		}
		r := memory.get(*f)
		if r.Allowed == nil && ask != nil {
			yes, err := ask(*f, name)
			if err != nil {
				return err
			}
			r.Allowed = &yes
			if err := memory.set(r); err != nil {
				return fmt.Errorf("cannot save the answer: %w", err)
			}
		}
		if r.Allowed != nil && *r.Allowed {
			f.server.Unconfined = true
			continue
		}
		f.leaves, f.inactive = true, name+" needs the network, which the sandbox does not have"
		if container {
			f.inactive = name + " cannot start containers in the sandbox"
		}
		f.inactive += fmt.Sprintf("; to run %s outside the sandbox: reins mcp allow %s", f.shownCommand(), quoteRules([]string{f.name}))
		if r.Allowed != nil {
			f.leaves = false // the user has decided
		}
	}
	return nil
}

// launcher returns a function that asks whether a server may leave the sandbox, or nil if there is nobody to ask.
func (a *asker) launcher(ctx context.Context) func(foundServer, string) (bool, error) {
	if a.unattended() {
		return nil
	}
	return func(f foundServer, program string) (bool, error) {
		a.asking.Lock()
		defer a.asking.Unlock()
		line, err := a.ask(ctx, fmt.Sprintf("\nMCP server %s (%s) is started by %s, which does not work in the sandbox:\n  %s\n"+
			"Run it outside the sandbox, now and in later runs in this project? [y]es, [n]o > ",
			show.OneLine(f.name), shortDir(a.host, f.origin.Name), program, f.shownCommand()))
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y"), err
	}
}

// newMCPAllow returns the command that records an answer of the user about servers, for this project.
func newMCPAllow(h Host, use, short string, allowed bool) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME...",
		Short: short,
		Long: short + `, for this project.
This is for servers that npx, uvx, docker and similar programs start, which need
more than the sandbox permits. The decision applies to the server's current
command. If the command changes, Reins asks again.`,
		Args: wantArgs(1, anyNumber, "names of servers"),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := h.serversHere(".")
			if err != nil {
				return err
			}
			root, err := config.Root(".")
			if err != nil {
				return usageError{err}
			}
			if _, err := choose(h, list, args); err != nil {
				return err
			}
			memory := h.serverMemory(root)
			for _, f := range list {
				if !slices.Contains(args, f.name) || f.inactive != "" && f.inactive != "disabled" {
					continue
				}
				if name, _ := launcher(f.server); name == "" && allowed {
					return usagef("server %s is not started by a program such as npx or docker; use --unconfined in \"reins mcp add\"", f.name)
				}
				r := memory.get(f)
				r.Allowed, r.Failure = &allowed, ""
				if err := memory.set(r); err != nil {
					return err
				}
				notef(h, "%s in this project: %s", map[bool]string{true: "runs outside the sandbox", false: "is not used"}[allowed], f.shownCommand())
			}
			return nil
		},
	}
}
