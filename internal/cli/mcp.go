package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/project"
)

func newMCP(h Host) *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "mcp",
			Short: "Manage MCP servers",
			Long: `Manage MCP servers. "reins run" connects to them and offers their tools to the
agent as mcp__SERVER__TOOL.

Your own servers are in mcp.json next to your configuration file. Those of a
project are in its .mcp.json, and are used only if you trust the project
("reins trust"). Both files use the format of Claude Code.

"reins mcp serve" makes Reins itself an MCP server.`,
		},
		newMCPList(h),
		newMCPAdd(h),
		newMCPRemove(h),
		newMCPTest(h),
		newMCPLogs(h),
		newMCPAllow(
			h,
			"allow",
			"Let MCP servers run outside the sandbox",
			true,
		),
		newMCPAllow(h, "deny", "Do not run MCP servers that need to leave the sandbox", false),
		newMCPLogin(h),
		newMCPLogout(h),
		newMCPServe(h),
	)
}

// target returns the URL or the command of a server, without secrets.
func target(f project.Server) string {
	if u := cmp.Or(f.File.URL, f.File.HTTPURL); u != "" {
		return wire.RedactURL(u)
	}
	return wire.Redact(strings.Join(append([]string{f.File.Command}, f.File.Args...), " "))
}

func transport(f project.Server) string {
	switch {
	case f.File.Type != "":
		return f.File.Type
	case cmp.Or(f.File.URL, f.File.HTTPURL) != "":
		return "http"
	}
	return "stdio"
}

// state describes whether the server is used.
func stateOf(f project.Server) string {
	switch {
	case f.Inactive != "":
		return "inactive: " + f.Inactive
	case f.Err != nil:
		return "invalid: " + f.Err.Error()
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
			p, list, err := serversHere(h.options("."), false)
			if err != nil {
				return err
			}
			if p.Settings == nil { // report why
				_, err := h.peek(".")
				return err
			}
			box, err := p.Sandbox()
			if err != nil {
				return err
			}
			if err := p.PermitServers(list, box, nil); err != nil {
				return err
			}
			t := &show.Table{
				Columns: []show.Column{
					{Title: "SERVER", Colour: show.Cyan},
					{Title: "TYPE"},
					{Title: "TARGET"},
					{Title: "FROM"},
					{Title: "STATE"},
				},
			}
			for _, f := range list {
				if asJSON {
					j := serverJSON{
						f.Name,
						transport(f),
						target(f),
						f.Origin,
						stateOf(f) == "active",
						strings.TrimPrefix(stateOf(f), "active"),
					}
					if err := printJSON(h.Stdout, j); err != nil {
						return err
					}
					continue
				}
				t.Add(show.Summary(f.Name), transport(f), target(f), shortDir(h, f.Origin.Name), stateOf(f))
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

// serversHere lists the servers for the current directory. If the configuration cannot be read, the project has no
// settings, but the servers are listed. Notes about settings are printed if loud is set.
func serversHere(o project.Options, loud bool) (*project.Project, []project.Server, error) {
	say := o.Note
	o.Note = func(n project.Note) {
		if loud && n.Kind != project.NoteTrust || n.Kind == project.NoteServer || n.Kind == project.NoteSandbox {
			say(n)
		}
	}
	p, err := project.Load(context.Background(), o)
	if p.Root == "" {
		return p, nil, err
	}
	list, err := p.AllServers()
	return p, list, err
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
	if launcher, _ := (project.Server{Server: mcp.Server{Command: s.Command, Args: s.Args}}).Launcher(); !o.unconfined && launcher != "" {
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
func (h Host) changeServers(shared bool, change func(*mcp.File) error) (path string, err error) {
	var dir string
	if shared {
		if dir, err = config.Root("."); err != nil {
			return "", usageError{err}
		}
		path = filepath.Join(dir, project.ServersFile)
	} else if path, err = h.machine().ServersFile(); err != nil {
		return "", err
	}
	data, err := project.ReadFile(filepath.Dir(path), filepath.Base(path), !shared)
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
	if shared {
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
