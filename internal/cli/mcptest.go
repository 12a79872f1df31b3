package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/project"
)

type mcpTest struct {
	boxFlags
	overrides []config.Override
	asJSON    bool
	timeout   time.Duration
}

func newMCPTest(h Host) *cobra.Command {
	var o mcpTest
	cmd := &cobra.Command{
		Use:   "test [NAME...]",
		Short: "Connect to MCP servers and list their tools",
		Long: `Connect to MCP servers and list their tools. Without names, it tests all active
servers. The exit code is 1 if a server cannot be used.`,
		Args: wantArgs(0, anyNumber, "names of servers"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.overrides = overrides(cmd.Flags())
			return o.run(cmd.Context(), h, args)
		},
	}
	o.boxFlags.flags(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object per server")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait for the servers")
	return cmd
}

func (o mcpTest) run(ctx context.Context, h Host, names []string) error {
	options := h.options(".", o.overrides...)
	options.Writable = o.writable
	p, list, err := serversHere(options, true)
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
	if err := p.PermitServers(list, box, newAsker(h).launcher(ctx)); err != nil {
		return err
	}
	chosen, err := choose(h, p, list, names)
	if err != nil || len(chosen) == 0 {
		return err
	}
	e, err := p.Env(box)
	if err != nil {
		return err
	}
	defer e.Close()
	config, logs := p.ServerConfig(chosen, true)
	defer logs.Close()
	config.Env, config.Connect = e, o.timeout
	config.Roots = []string{e.Info().Dir}
	client := mcp.Open(ctx, config)
	defer client.Close()
	client.Wait(ctx, o.timeout)
	return o.print(h, client, func(name string) string { return project.ConfinedHint(chosen[name], e) })
}

// choose returns the servers with these names, or all active ones.
func choose(h Host, p *project.Project, list []project.Server, names []string) (map[string]mcp.Server, error) {
	if len(names) == 0 {
		all := p.ActiveServers(list)
		if len(all) == 0 {
			notef(h, `no active MCP servers; see "reins mcp list"`)
		}
		return all, nil
	}
	chosen := map[string]mcp.Server{}
	for _, name := range names {
		i := slices.IndexFunc(list, func(f project.Server) bool { return f.Name == name && (f.Inactive == "" || f.Inactive == "disabled") })
		if i < 0 {
			var known []string
			for _, f := range list {
				known = append(known, f.Name)
				if f.Name == name {
					return nil, usagef("server %s is %s", name, stateOf(f))
				}
			}
			return nil, usagef("unknown server %s%s", name, didYouMean(name, known))
		}
		if err := list[i].Err; err != nil {
			return nil, usagef("server %s: %w", name, err)
		}
		list[i].Server.Disabled = false
		chosen[name] = list[i].Server
	}
	return chosen, nil
}

// print shows the servers and their tools, and fails if one cannot be used.
func (o mcpTest) print(h Host, client *mcp.Client, hint func(name string) string) error {
	failed := 0
	specs := map[string]string{}
	for _, t := range client.Tools() {
		specs[t.Spec().Name] = t.Spec().Description
	}
	list := client.Status()
	for _, st := range list {
		if st.State != mcp.Connected {
			failed++
		}
		if o.asJSON {
			if err := printJSON(h.Stdout, statusJSONOf(st)); err != nil {
				return err
			}
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s", show.Summary(show.OneLine(st.Name)), st.State)
		switch {
		case st.Err != nil:
			fmt.Fprintf(&b, ": %s", show.Visible(st.Err.Error()))
		case st.State == mcp.Pending:
			fmt.Fprintf(&b, ": it did not answer within %v", o.timeout)
		case st.State == mcp.NeedsAuth:
			fmt.Fprintf(&b, `; run "reins mcp login %s"`, show.OneLine(st.Name))
		}
		if st.State == mcp.Pending || st.State == mcp.Failed {
			b.WriteString(hint(st.Name))
		}
		b.WriteByte('\n')
		for _, name := range st.Tools {
			first, _, _ := strings.Cut(specs[name], "\n")
			fmt.Fprintf(&b, "  %s  %s\n", show.OneLine(name), show.Summary(first))
		}
		for _, q := range st.LeftOut {
			fmt.Fprintf(&b, "  %s  left out: %s\n", show.OneLine(q.Tool), show.Summary(q.Reason))
		}
		if _, err := io.WriteString(h.Stdout, b.String()); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d servers failed", failed, len(list))
	}
	return nil
}

// serverStatus is the status of a server as JSON.
type serverStatus struct {
	Name     string    `json:"name"`
	State    mcp.State `json:"state"`
	Error    string    `json:"error,omitempty"`
	Tools    []string  `json:"tools"`
	LeftOut  []leftOut `json:"left_out,omitempty"`
	Server   string    `json:"server,omitempty"`
	Version  string    `json:"version,omitempty"`
	Protocol string    `json:"protocol,omitempty"`
}

type leftOut struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

func statusJSONOf(st mcp.Status) serverStatus {
	s := serverStatus{
		Name:     st.Name,
		State:    st.State,
		Tools:    append([]string{}, st.Tools...),
		Server:   st.ServerName,
		Version:  st.ServerVersion,
		Protocol: st.Protocol,
	}
	if st.Err != nil {
		s.Error = st.Err.Error()
	}
	for _, q := range st.LeftOut {
		s.LeftOut = append(s.LeftOut, leftOut{q.Tool, q.Reason})
	}
	return s
}

func newMCPLogs(h Host) *cobra.Command {
	var lines int
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what an MCP server wrote to standard error",
		Args:  wantArgs(1, 1, "the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := stateDir(h)
			if err != nil {
				return err
			}
			path := dir.MCPLog(args[0])
			old, _ := os.ReadFile(path + ".old") // there may be none
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
				notef(h, "no logs for server %s", show.Summary(args[0]))
				return nil
			}
			if err != nil {
				return err
			}
			for _, line := range lastLines(append(old, data...), lines) {
				if _, err := fmt.Fprintln(h.Stdout, show.Visible(string(line))); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "number of lines to show; 0 means all")
	return cmd
}

// lastLines returns the last n lines; 0 means all.
func lastLines(data []byte, n int) [][]byte {
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}
