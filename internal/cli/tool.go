package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

func newTool(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "tool", Short: "List and run coding tools"}, newToolList(h), newToolCall(h))
}

// toolsetHelp describes the --toolset flag of all commands.
const toolsetHelp = "tool set: standard, or native (the tools of the vendor's own agent)"

// toolFlags select tools.
type toolFlags struct{ profile, toolset string }

func (o *toolFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.profile, "profile", "", "only the tools for openai, anthropic, gemini or generic models")
	f.StringVar(&o.toolset, "toolset", string(coding.Standard), toolsetHelp+"; needs --profile")
}

// checkProfile returns an error for an unknown profile; "" means none.
func checkProfile(name string) error {
	if name != "" && !coding.Family(name).Known() {
		return usagef("unknown profile %q: use openai, anthropic, gemini or generic", name)
	}
	return nil
}

// registry returns all standard tools, or those of a profile.
func (o toolFlags) registry(c coding.ToolConfig) (*tool.Registry, error) {
	toolset, err := coding.ParseToolset(o.toolset)
	if err != nil {
		return nil, usageError{err}
	}
	if toolset == coding.Native && (o.profile == "" || o.profile == string(coding.GenericFamily)) {
		return nil, usagef("--toolset native requires --profile openai, anthropic or gemini")
	}
	if o.profile != "" {
		if err := checkProfile(o.profile); err != nil {
			return nil, err
		}
		return coding.NewProfile(coding.ProfileConfig{Provider: o.profile, Family: coding.Family(o.profile), Toolset: toolset, Tools: c}).
			Registry()
	}
	r := &tool.Registry{}
	if err := r.Register(coding.NewTools(c)...); err != nil {
		return nil, err
	}
	r.Alias(coding.NativeAliases()...)
	return r, nil
}

func newToolList(h Host) *cobra.Command {
	var tools toolFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the coding tools",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			r, err := tools.registry(coding.ToolConfig{})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(h.Stdout, r.Specs())
			}
			t := &show.Table{
				Columns: []show.Column{{Title: "TOOL", Colour: show.Cyan}, {Title: "PERMISSIONS", Max: 64}, {Title: "DESCRIPTION"}},
			}
			for _, s := range r.Specs() {
				first, _, _ := strings.Cut(s.Description, ". ")
				t.Add(s.Name, joinPermissions(s.Permissions), strings.TrimSuffix(first, "."))
			}
			return printTable(h, t)
		},
	}
	tools.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print full specifications as JSON")
	return cmd
}

func joinPermissions(ps []tool.Permission) string {
	words := make([]string, len(ps))
	for i, p := range ps {
		words[i] = string(p)
	}
	return strings.Join(words, " ")
}

type toolCall struct {
	toolFlags
	boxFlags
	overrides []config.Override
	args      string
	dir       string
	timeout   time.Duration
	dryRun    bool
	classic   bool
	version   string
}

func newToolCall(h Host) *cobra.Command {
	var o toolCall
	cmd := &cobra.Command{
		Use:   "call NAME --args JSON|@FILE|-",
		Short: "Run one tool call",
		Long: `Run one tool call, without asking for approval, and print its result as JSON.
The exit code is 1 if the call fails.`,
		Example: `  reins tool call grep --args '{"pattern":"TODO","max_results":5}'
  reins tool call edit_file --args @edit.json
  reins tool call shell --args '{"command":"rm -rf build"}' --dry-run`,
		Args: wantArgs(1, 1, "one tool name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.overrides = overrides(cmd.Flags())
			return o.run(cmd.Context(), h, args[0])
		},
	}
	o.toolFlags.flags(cmd)
	o.boxFlags.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.args, "args", "{}", "arguments as `JSON`, @FILE, or - for standard input")
	f.StringVar(&o.dir, "cwd", "", "run in directory `DIR` (default: the current directory)")
	f.DurationVar(&o.timeout, "timeout", 0, "timeout for the call (default: the tool's)")
	f.BoolVar(&o.classic, "classic-patch", false, "let apply_patch keep the changes before a failed one, as codex does")
	f.StringVar(&o.version, "tool-version", "", "fail if the tool is incompatible with `VERSION`")
	f.BoolVar(&o.dryRun, "dry-run", false, "only print what the call would access and whether it would be allowed")
	return cmd
}

func (o toolCall) run(ctx context.Context, h Host, name string) error {
	args, err := o.readArgs(h)
	if err != nil {
		return err
	}
	e, err := o.environment(h)
	if err != nil {
		return usageError{err}
	}
	defer e.Close()
	tools := coding.ToolConfig{ClassicPatch: o.classic}
	if o.timeout > 0 {
		// The command gets the timeout, so that it can stop cleanly and keep its output. The
		// pipeline gets a little more.
		tools.DefaultTimeout, tools.MaxTimeout = o.timeout, o.timeout
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout+3*time.Second)
		defer cancel()
	}
	reg, err := o.registry(tools)
	if err != nil {
		return err
	}
	call := tool.Call{
		ID:      "call_1",
		Name:    name,
		Args:    args,
		Version: o.version,
		Env:     e,
		Vision:  true,
	}
	if o.dryRun {
		out := (&tool.Pipeline{Registry: reg, Policy: rules.Policy{}}).Check(ctx, call)
		err := printJSON(
			h.Stdout,
			map[string]any{"tool": out.Tool, "accesses": out.Accesses, "decision": out.Decision, "error": out.Result.Error},
		)
		return cmp.Or(err, failIf(!out.OK()))
	}
	out := (&tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}, Middleware: []tool.Middleware{coding.ExplainLimits}}).Run(ctx, call)
	if c, ok := out.Result.Output.(io.Closer); ok {
		defer c.Close()
	}
	return cmp.Or(printOutcome(h.Stdout, out), failIf(!out.OK()))
}

// environment returns where the call runs.
func (o toolCall) environment(h Host) (*local.Env, error) {
	options := h.options(o.dir, o.overrides...)
	options.Writable = o.boxFlags.writable
	p, err := loadProject(options)
	if err != nil {
		return nil, err
	}
	box, err := p.Sandbox()
	if err != nil {
		return nil, err
	}
	return p.Env(box)
}

func (o toolCall) readArgs(h Host) (json.RawMessage, error) {
	var b []byte
	var err error
	switch file, isFile := strings.CutPrefix(o.args, "@"); {
	case o.args == "-":
		b, err = io.ReadAll(h.Stdin)
	case isFile:
		b, err = os.ReadFile(file)
	default:
		b = []byte(o.args)
	}
	if err != nil {
		return nil, usagef("cannot read --args: %w", err)
	}
	return b, nil
}

// printOutcome prints the result of a call as JSON. It streams the output, which may be large.
func printOutcome(w io.Writer, out tool.Outcome) error {
	payload := map[string]any{"model_output": out.Model}
	maps.Copy(payload, out.Result.Fields)
	head, err := marshal(struct {
		ID      string         `json:"tool_call_id"`
		OK      bool           `json:"ok"`
		Payload map[string]any `json:"payload"`
	}{out.Call.ID, out.OK(), payload})
	if err != nil {
		return err
	}
	tail, err := marshal(struct {
		Error     *tool.Error    `json:"error"`
		Artifacts tool.Artifacts `json:"artifacts"`
		Duration  int64          `json:"duration_ms"`
	}{out.Result.Error, out.Result.Artifacts, out.Duration.Milliseconds()})
	if err != nil {
		return err
	}
	bw := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(bw, `%s,"output":`, bytes.TrimSuffix(head, []byte("}}")))
	if err := writeString(bw, out.Result.Output); err != nil {
		return err
	}
	fmt.Fprintf(bw, "},%s\n", tail[1:])
	return bw.Flush()
}

// writeString streams an output as a JSON string.
func writeString(w *bufio.Writer, o tool.Output) error {
	if o == nil {
		o = tool.Text("")
	}
	r := o.Open()
	defer r.Close()
	if err := w.WriteByte('"'); err != nil {
		return err
	}
	runes := bufio.NewReaderSize(r, 64<<10)
	var piece, quoted []byte
	for {
		piece = piece[:0]
		var err error
		for len(piece) < 32<<10 && err == nil {
			var c rune
			if c, _, err = runes.ReadRune(); err == nil {
				piece = append(piece, string(c)...)
			}
		}
		quoted = wire.AppendString(quoted[:0], string(piece))
		if _, werr := w.Write(quoted[1 : len(quoted)-1]); werr != nil {
			return werr
		}
		switch err {
		case nil:
		case io.EOF:
			return w.WriteByte('"')
		default:
			return err
		}
	}
}
