package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/coder"
	"github.com/reins-agent/reins/mcp/serve"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// mcpServe holds the flags of "reins mcp serve".
type mcpServe struct {
	toolFlags
	run             // only its fields for permissions and the sandbox are used
	http, tokenFile string
	hosts, origins  []string
	coder           bool
}

func newMCPServe(h Host) *cobra.Command {
	var o mcpServe
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Offer the coding tools to an MCP client",
		Long: `Offer the coding tools to an MCP client on standard input and output, or to MCP
clients over HTTP with --http. Permissions, hooks, sandbox, redaction of secrets
and the audit log apply as in "reins run". If a call needs approval, the client
asks its user. A call is refused if the client does not support that.

HTTP clients must send a token. By default it is random and printed to standard
error. To choose it, use --token-file or REINS_MCP_TOKEN.`,
		Example: `  reins mcp serve
  reins mcp serve --tool-allow read_file,grep,glob --cwd ~/project
  reins mcp serve --http 127.0.0.1:8080 --token-file ~/.reins-mcp-token`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.serve(cmd.Context(), h, cmd.Flags())
		},
	}
	o.toolFlags.flags(cmd)
	o.boxed.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.http, "http", "", "serve clients over HTTP at `ADDR`, such as 127.0.0.1:8080, instead of standard input and output")
	f.StringVar(&o.tokenFile, "token-file", "", "read the token for HTTP clients from `FILE`")
	f.StringSliceVar(&o.hosts, "allow-host", nil, "also accept HTTP requests for host `NAME` (default: localhost and IP addresses only)")
	f.StringSliceVar(&o.origins, "allow-origin", nil, "accept HTTP requests from web pages of `ORIGIN`, such as https://example.com")
	f.StringVar(&o.dir, "cwd", "", "work in directory `DIR` (default: the current directory)")
	f.StringSliceVar(&o.allow, "tool-allow", nil, "offer only these tools (default: all)")
	f.StringSliceVar(&o.deny, "tool-deny", nil, "do not offer these tools")
	f.StringVar(&o.mode, "mode", string(policy.ModeDefault), modeHelp)
	f.StringVar(&o.rules, "rules", "", rulesHelp+", in addition to the configuration")
	f.BoolVar(&o.yes, "yes", false, "approve everything that needs approval; deny rules, protected paths and the sandbox still apply")
	f.BoolVar(&o.trust, "trust", false, "trust the project, regardless of \"reins trust\"")
	f.DurationVar(&o.timeout, "timeout", 0, "default command timeout, at most 10m (default: 10s)")
	f.BoolVar(
		&o.coder,
		"coder",
		false,
		"also offer the coder tool, which lets an agent work on a task (default: coder.enabled from the configuration)",
	)
	completeWords(cmd, "mode", modeNames()...)
	return cmd
}

func (o *mcpServe) serve(ctx context.Context, h Host, flags *pflag.FlagSet) error {
	if o.timeout < 0 {
		return usagef("--timeout must not be negative")
	}
	if err := checkDir(o.dir); err != nil {
		return err
	}
	var l net.Listener
	var token string
	var err error
	if o.http != "" {
		if token, err = o.token(h); err != nil {
			return err
		}
		if l, err = o.listen(token); err != nil {
			return err
		}
		defer l.Close()
	} else if o.tokenFile != "" || len(o.hosts) > 0 || len(o.origins) > 0 {
		return usagef("--token-file, --allow-host and --allow-origin need --http")
	}
	bench, err := o.open(ctx, h, flags)
	if err != nil {
		return err
	}
	defer bench.Close()
	s, err := serve.New(serve.Config{
		Name:     "reins",
		Version:  version(),
		Pipeline: bench.Pipeline,
		Env:      bench.Env,
		Guard:    bench.Guard,
		Describe: func(ctx context.Context, r tool.Request) string { return describeCall(ctx, r) },
	})
	if err != nil {
		return err
	}
	if l == nil {
		return s.Run(ctx, h.Stdin, h.Stdout)
	}
	shown := "from " + cmp.Or(o.tokenFile, tokenVariable)
	if token == "" {
		token = rand.Text()
		shown = token
	}
	notef(h, "serving MCP at http://%s%s, bearer token: %s", l.Addr(), serve.Path, shown)
	return s.Serve(ctx, l, serve.HTTPConfig{Token: token, Hosts: o.hosts, Origins: o.origins})
}

// open sets up the tools.
func (o *mcpServe) open(ctx context.Context, h Host, flags *pflag.FlagSet) (*coding.Workbench, error) {
	o.connection.parsed = flags
	if err := o.configure(h, event.Meta{}); err != nil {
		return nil, err
	}
	c, err := o.project.Workbench()
	if err != nil {
		return nil, err
	}
	c.ToolConfig.DefaultTimeout, c.Session.Approve = o.timeout, refuser(h)
	more := c.Tools
	if o.coder || o.project.Settings.Coder.Enabled {
		runs, err := o.run.coder(h, cmp.Or(o.dir, "."))
		if err != nil {
			return nil, err
		}
		more = append(more, coder.Tool(runs))
	}
	return coding.OpenWorkbench(ctx, c, func(t coding.ToolConfig) (*tool.Registry, error) { return o.offered(t, more) })
}

// offered returns the tools that the flags select from the coding tools and from more.
func (o *mcpServe) offered(c coding.ToolConfig, more []tool.Tool) (*tool.Registry, error) {
	reg, err := o.registry(c)
	if err != nil {
		return nil, err
	}
	if err := reg.Register(more...); err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(o.allow, o.deny) {
		if !slices.Contains(reg.Names(), name) {
			return nil, usagef("unknown tool %q: use %s", name, strings.Join(reg.Names(), ", "))
		}
	}
	return reg.Select(func(name string) bool {
		return (len(o.allow) == 0 || slices.Contains(o.allow, name)) && !slices.Contains(o.deny, name)
	}), nil
}

// refuser returns an approver that refuses calls, and says how to allow them.
func refuser(h Host) func(context.Context, tool.Request) (tool.Approval, error) {
	a := newAsker(h)
	return func(ctx context.Context, r tool.Request) (tool.Approval, error) {
		return a.refuse(ctx, r, "the MCP client cannot ask its user"), nil
	}
}

// describeCall describes a call for the user of a client.
func describeCall(ctx context.Context, r tool.Request) string {
	q := newCallQuestion(ask.FromRequest(requested(ctx, r)), 0, false)
	return strings.TrimSpace(strings.Join(q.rows, "\n"))
}

// tokenVariable is the environment variable with the token.
const tokenVariable = "REINS_MCP_TOKEN"

// maxToken is the maximum size of a file with a token.
const maxToken = 4 << 10

// token returns the token that the user has chosen, or "".
func (o *mcpServe) token(h Host) (string, error) {
	token := h.Getenv(tokenVariable)
	if o.tokenFile != "" {
		b, err := readSmall(o.tokenFile, maxToken)
		if err != nil {
			return "", usagef("--token-file: %w", err)
		}
		if token = string(bytes.TrimSpace(b)); token == "" {
			return "", usagef("--token-file: %s is empty", o.tokenFile)
		}
	}
	const minimum = 16
	if token != "" && (len(token) < minimum || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		return "", usagef("the token must have at least %d characters, all visible ASCII", minimum)
	}
	return token, nil
}

// readSmall reads a file of at most n bytes.
func readSmall(name string, n int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, n+1))
	if err == nil && int64(len(b)) > n {
		err = fmt.Errorf("%s is larger than %d bytes", name, n)
	}
	return b, err
}

// listen opens the address. It rejects addresses that other machines can reach, unless the user has chosen a token.
func (o *mcpServe) listen(token string) (net.Listener, error) {
	l, err := listenAt("--http", o.http)
	if err != nil {
		return nil, err
	}
	addr, err := netip.ParseAddrPort(l.Addr().String())
	if token == "" && (err != nil || !addr.Addr().Unmap().IsLoopback()) {
		l.Close()
		return nil, usagef(
			"--http %s can be reached from other machines: choose a token with --token-file or %s, or use 127.0.0.1",
			o.http,
			tokenVariable,
		)
	}
	return l, nil
}
