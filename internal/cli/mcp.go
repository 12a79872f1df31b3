package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/mcp"
)

// projectServers lists the MCP servers of a project.
const projectServers = ".mcp.json"

func newMCP(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "mcp",
		Short: "Manage MCP servers",
		Long: `Manage MCP servers. "reins run" connects to them and offers their tools to the
agent as mcp__SERVER__TOOL.

Your own servers are in mcp.json next to your configuration file. Those of a
project are in its .mcp.json, and are used only if you trust the project
("reins trust"). Both files use the format of Claude Code.

"reins mcp serve" makes Reins itself an MCP server.`,
	}, newMCPList(h), newMCPAdd(h), newMCPRemove(h), newMCPTest(h), newMCPLogs(h),
		newMCPAllow(h, "allow", "Let MCP servers run outside the sandbox", true), newMCPAllow(h, "deny", "Do not run MCP servers that need to leave the sandbox", false),
		newMCPLogin(h), newMCPLogout(h), newMCPServe(h))
}

// foundServer is an MCP server in a configuration file.
type foundServer struct {
	name     string
	file     mcp.FileServer
	server   mcp.Server
	origin   config.Origin
	inactive string // why it is not used
	leaves   bool   // it is not used because it would leave the sandbox
	err      error
}

// userServers returns the file of the user's servers.
func (h Host) userServers() (string, error) {
	f, err := h.configFile(config.LayerUser)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(f.Path), "mcp.json"), nil
}

// findServers lists the servers for a project, including inactive ones, sorted by name. A server of the user replaces
// one of the project with the same name, even if it is disabled, because rules of the user may allow its tools.
func (h Host) findServers(root string, trusted bool, extra []string) ([]foundServer, error) {
	type place struct {
		layer     config.Layer
		dir, name string
	}
	var places []place
	for _, name := range extra {
		places = append(places, place{config.LayerFlag, filepath.Dir(name), filepath.Base(name)})
	}
	if path, err := h.userServers(); err == nil {
		places = append(places, place{config.LayerUser, filepath.Dir(path), filepath.Base(path)})
	}
	places = append(places, place{config.LayerProject, root, projectServers})
	var unconfined []string // servers of the project that the user lets leave the sandbox
	if s, err := h.quietSettings(root, trusted, nil); err == nil {
		unconfined = s.MCP.Unconfined
	}
	var list []foundServer
	for _, p := range places {
		found, err := h.readServers(p.dir, p.name, p.layer)
		untrusted := p.layer == config.LayerProject && !trusted
		if err != nil && untrusted {
			notef(h, "ignoring the MCP servers of an untrusted project: %v", err)
			continue
		}
		if err != nil {
			return nil, usageError{err}
		}
		for _, f := range found {
			if i := slices.IndexFunc(list, func(o foundServer) bool { return o.name == f.name }); i >= 0 {
				f.inactive = "replaced by the one in " + shortDir(h, list[i].origin.Name)
			}
			if p.layer == config.LayerProject && f.unconfined() && f.inactive == "" && !slices.Contains(unconfined, f.name) {
				f.inactive, f.leaves = "the project asks to run it outside the sandbox; to permit that, run: "+
					"reins config set --personal --add mcp.unconfined "+quoteRules([]string{f.name}), true
			}
			if untrusted {
				f.inactive = untrustedProject
			}
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b foundServer) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// readServers reads the servers in one file. A missing file is an error only if a flag names it.
func (h Host) readServers(dir, name string, layer config.Layer) (list []foundServer, err error) {
	path := filepath.Join(dir, name)
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() && layer == config.LayerProject {
		return nil, nil // the sandbox of another session creates a directory in place of a missing file
	}
	data, err := readSettings(dir, name, layer != config.LayerProject)
	if errors.Is(err, fs.ErrNotExist) && layer != config.LayerFlag {
		return nil, nil
	}
	var file *mcp.File
	if err == nil {
		file, err = mcp.ParseFile(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range file.Names() {
		f := foundServer{name: name, origin: config.Origin{Layer: layer, Name: path}}
		if f.file, f.err = file.Get(name); f.err == nil {
			f.server, f.err = f.file.Server(func(text string) (string, error) { return config.Expand(text, h.Getenv) })
		}
		if f.file.Disabled {
			f.inactive = "disabled"
		}
		list = append(list, f)
	}
	return list, nil
}

// target returns the URL or the command of a server, without secrets.
func (f foundServer) target() string {
	if u := cmp.Or(f.file.URL, f.file.HTTPURL); u != "" {
		return wire.RedactURL(u)
	}
	return wire.Redact(strings.Join(append([]string{f.file.Command}, f.file.Args...), " "))
}

// unconfined reports whether the server is a command that asks to run outside the sandbox.
func (f foundServer) unconfined() bool { return f.file.Unconfined && f.file.Command != "" }

func (f foundServer) transport() string {
	switch {
	case f.file.Type != "":
		return f.file.Type
	case cmp.Or(f.file.URL, f.file.HTTPURL) != "":
		return "http"
	}
	return "stdio"
}

// state describes whether the server is used.
func (f foundServer) state() string {
	switch {
	case f.inactive != "":
		return "inactive: " + f.inactive
	case f.err != nil:
		return "invalid: " + f.err.Error()
	}
	return "active"
}

// serverJSON is a server as JSON.
type serverJSON struct {
	Name      string        `json:"name"`
	Transport string        `json:"transport"`
	Target    string        `json:"target"`
	Origin    config.Origin `json:"origin"`
	Active    bool          `json:"active"`
	Reason    string        `json:"reason,omitempty"` // why it is not
}

func newMCPList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List MCP servers without starting them",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			list, err := h.serversHere(".")
			if err != nil {
				return err
			}
			s, err := h.quietSettings(".", h.trusted("."), nil)
			if err != nil {
				return err
			}
			box, err := h.box(s, nil, nil)
			if err != nil {
				return err
			}
			if err := h.permitServers(list, ".", box, nil); err != nil {
				return err
			}
			t := &show.Table{Columns: []show.Column{{Title: "SERVER", Colour: show.Cyan}, {Title: "TYPE"}, {Title: "TARGET"}, {Title: "FROM"}, {Title: "STATE"}}}
			for _, f := range list {
				if asJSON {
					j := serverJSON{f.name, f.transport(), f.target(), f.origin, f.state() == "active", strings.TrimPrefix(f.state(), "active")}
					if err := printJSON(h.Stdout, j); err != nil {
						return err
					}
					continue
				}
				t.Add(show.Summary(f.name), f.transport(), f.target(), shortDir(h, f.origin.Name), f.state())
			}
			if asJSON {
				return nil
			}
			return printList(h, t, `no MCP servers; add one with "reins mcp add"`)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per server")
	return cmd
}

// serversHere lists the servers for a directory.
func (h Host) serversHere(dir string) ([]foundServer, error) {
	root, err := config.Root(dir)
	if err != nil {
		return nil, usageError{err}
	}
	return h.findServers(root, h.trusted(dir), nil)
}

type mcpAdd struct {
	project, disabled, unconfined, replace bool
	transport                              string
	env, headers                           []string
}

func newMCPAdd(h Host) *cobra.Command {
	var o mcpAdd
	cmd := &cobra.Command{
		Use:   "add NAME [flags] (URL | -- COMMAND [ARG...])",
		Short: "Add an MCP server",
		Long: `Add an MCP server: a URL, or a command that Reins starts.

The command runs in the sandbox, like the commands of the agent: it has no
network and can write only in the workspace. Use --unconfined for a server that
needs more. Servers that npx, uvx or docker start need the network: on a
terminal, Reins asks once whether they may leave the sandbox; otherwise use
"reins mcp allow".

The command gets the same environment variables as the agent's commands, and
the variables set with --env. Write ${NAME} to use a variable from your
environment without saving its value.`,
		Example: `  reins mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  reins mcp add tracker --header 'Authorization: Bearer ${TOKEN}' \
    https://tracker.example.com/mcp
  reins mcp add db --env 'DB_URL=${DB_URL}' --unconfined -- db-server`,
		Args: wantArgs(2, anyNumber, "a name and a URL or a command"),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(h, args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.project, "project", false, "add the server to the .mcp.json of this project")
	f.StringVar(&o.transport, "type", "", "transport: stdio, http or sse (default: stdio for a command, http for a URL)")
	f.StringArrayVar(&o.env, "env", nil, "set an environment variable for the command: `NAME=VALUE`; can be repeated")
	f.StringArrayVar(&o.headers, "header", nil, "send an HTTP header: `NAME:VALUE`; can be repeated")
	f.BoolVar(&o.unconfined, "unconfined", false, "run the command outside the sandbox")
	f.BoolVar(&o.disabled, "disabled", false, "add the server, but do not use it")
	f.BoolVar(&o.replace, "replace", false, "replace an existing server with the same name")
	return cmd
}

func (o mcpAdd) run(h Host, name string, target []string) error {
	if mcp.ToolName(name, "x") != "mcp__"+name+"__x" {
		return usagef("%q cannot be the name of a server: use at most 32 letters, digits, - and _, without __", show.Summary(name))
	}
	if target[0] == "" {
		return usagef("the command of server %s is empty", name)
	}
	s := mcp.FileServer{Type: o.transport, Disabled: o.disabled, Unconfined: o.unconfined}
	url := strings.HasPrefix(target[0], "http://") || strings.HasPrefix(target[0], "https://")
	switch {
	case url && len(target) > 1:
		return usagef("unexpected arguments after the URL: %s", strings.Join(target[1:], " "))
	case url:
		s.URL, s.Type = target[0], cmp.Or(o.transport, "http")
	case strings.Contains(target[0], "://"):
		return usagef("%s cannot be the address of a server: use an http or https URL, or a command", wire.RedactURL(target[0]))
	default:
		s.Command, s.Args = target[0], target[1:]
	}
	var err error
	if s.Env, err = pairs("--env", "=", o.env); err != nil {
		return err
	}
	if s.Headers, err = pairs("--header", ":", o.headers); err != nil {
		return err
	}
	later := func(text string) (string, error) { return text, nil } // variables may be set later
	if _, err := s.Server(later); err != nil {
		return usageError{err}
	}
	path, err := h.changeServers(o.project, func(f *mcp.File) error {
		if _, err := f.Get(name); err == nil && !o.replace {
			return usagef("server %s already exists; use --replace to replace it", name)
		}
		return f.Set(name, s)
	})
	if err != nil {
		return err
	}
	notef(h, `added %s to %s; try it with "reins mcp test %s"`, name, shortDir(h, path), name)
	if launcher, _ := launcher(mcp.Server{Command: s.Command, Args: s.Args}); !o.unconfined && launcher != "" {
		notef(h, "%s does not work in the sandbox; to run it outside of it in this project: reins mcp allow %s", launcher, name)
	}
	if o.project && o.unconfined && s.Command != "" {
		notef(h, "it is used only by those who permit it to leave the sandbox: reins config set --personal --add mcp.unconfined %s", name)
	}
	if o.project && !h.trusted(".") {
		notef(h, `this project is not trusted, so its servers are not used; see "reins trust"`)
	}
	return nil
}

// pairs splits the values of a flag into names and values.
func pairs(flag, separator string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, separator)
		if !ok || name == "" {
			return nil, usagef("%s: %q is not NAME%sVALUE", flag, text, separator)
		}
		m[name] = strings.TrimSpace(value)
	}
	return m, nil
}

// changeServers changes the servers of the user or of the project, and returns the path of their file.
func (h Host) changeServers(project bool, change func(*mcp.File) error) (path string, err error) {
	var dir string
	if project {
		if dir, err = config.Root("."); err != nil {
			return "", usageError{err}
		}
		path = filepath.Join(dir, projectServers)
	} else if path, err = h.userServers(); err != nil {
		return "", err
	}
	data, err := readSettings(filepath.Dir(path), filepath.Base(path), !project)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return path, fmt.Errorf("%s: %w", path, err)
	}
	file, err := mcp.ParseFile(data)
	if err != nil {
		return path, usagef("%s: %w", path, err)
	}
	if err := change(file); err != nil {
		return path, err
	}
	if data, err = file.Format(); err != nil {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return path, err
	}
	perm := fs.FileMode(0o600) // it may contain tokens
	if project {
		perm = 0o644
	}
	return path, replaceFile(path, data, perm)
}

// replaceFile replaces a file atomically. It follows a symbolic link, and keeps the permissions of an existing file.
func replaceFile(path string, data []byte, perm fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if fi, err := os.Stat(path); err == nil {
		perm = fi.Mode().Perm()
	}
	return atomicfile.Write(path, data, perm)
}

func newMCPRemove(h Host) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an MCP server",
		Args:  wantArgs(1, 1, "the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			var known []string
			path, err := h.changeServers(project, func(f *mcp.File) error {
				known = f.Names()
				if !f.Remove(args[0]) {
					return usagef("unknown server %s%s", args[0], didYouMean(args[0], known))
				}
				return nil
			})
			if err == nil {
				notef(h, "removed %s from %s", args[0], shortDir(h, path))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "remove the server from the .mcp.json of this project")
	return cmd
}

// activeServers returns the servers to use, by name, and reports invalid ones.
func (h Host) activeServers(list []foundServer) map[string]mcp.Server {
	m := map[string]mcp.Server{}
	for _, f := range list {
		switch {
		case f.leaves && f.inactive != untrustedProject:
			notef(h, "MCP server %s (%s) is not used: %s", f.name, shortDir(h, f.origin.Name), f.inactive)
		case f.inactive != "":
		case f.err != nil:
			notef(h, "MCP server %s (%s): %v", f.name, shortDir(h, f.origin.Name), f.err)
		default:
			m[f.name] = f.server
		}
	}
	return m
}
