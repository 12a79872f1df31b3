package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/gitrisk"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/tool"
)

func newPolicy(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "policy", Short: "Explain and change permissions"},
		newPolicyCheck(h), newPolicyList(h), newPolicyAdd(h, "allow", "Allow calls without asking"), newPolicyAdd(h, "deny", "Deny calls"),
		newPolicyRemove(h))
}

func newPolicyList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the permission mode and the rules that apply here",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := h.load(".")
			if err != nil {
				return err
			}
			var entries []config.Entry
			for _, e := range p.Entries() {
				if strings.HasPrefix(e.Key, "permissions.") {
					entries = append(entries, e)
				}
			}
			return showConfig(h, entries, true, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

type policyCheck struct {
	mode, rules, command, tool, args, dir string
	jsonl, asJSON                         bool
}

func newPolicyCheck(h Host) *cobra.Command {
	var o policyCheck
	cmd := &cobra.Command{
		Use:   "check {--command CMD | --tool NAME | --jsonl}",
		Short: "Explain whether a call would be allowed",
		Long: `Explain whether a command or a tool call would be allowed, and which rule
decides. Nothing is run. The exit code is 0 if it would be allowed, 4 if it
would need approval and 1 if it would be denied. With --jsonl, the exit code is
0 if all input was read.`,
		Example: `  reins policy check --command 'git log | head'
  reins policy check --tool read_file --args '{"file_path":"a.txt"}'
  reins policy check --rules rules.json --jsonl < queries.jsonl`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, h) },
	}
	f := cmd.Flags()
	f.StringVar(&o.mode, "mode", "", modeHelp)
	f.StringVar(&o.rules, "rules", "", rulesHelp+", instead of the configuration")
	f.StringVar(&o.command, "command", "", "command line to check")
	f.StringVar(&o.tool, "tool", "", "`NAME` of the tool to check")
	f.StringVar(&o.args, "args", "{}", "arguments of the tool as `JSON`")
	f.StringVar(&o.dir, "cwd", "", "check a call in directory `DIR` (default: the current directory)")
	f.BoolVar(&o.jsonl, "jsonl", false, `read queries from standard input, one per line: {"id","command"} or {"id","tool","args"}`)
	f.BoolVar(&o.asJSON, "json", false, "print the decision as JSON")
	completeWords(cmd, "mode", modeNames()...)
	return cmd
}

const (
	modeHelp  = "permission mode: default, acceptEdits, plan, auto, dontAsk or bypassPermissions"
	rulesHelp = "read rules from `FILE`, a JSON object with mode, allow, ask and deny"
)

func modeNames() (names []string) {
	for _, m := range policy.Modes {
		names = append(names, string(m))
	}
	return names
}

// checker decides on queries without running anything.
type checker struct {
	pipe tool.Pipeline
	env  *local.Env
}

func (o policyCheck) run(cmd *cobra.Command, h Host) error {
	ways := 0
	for _, given := range []bool{cmd.Flags().Changed("command"), o.tool != "", o.jsonl} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return usagef("use exactly one of --command, --tool and --jsonl")
	}
	c, err := o.checker(h)
	if err != nil {
		return err
	}
	defer c.env.Close()
	if o.jsonl {
		return c.lines(cmd.Context(), h.Stdin, h.Stdout)
	}
	q := checkQuery{Command: &o.command}
	if o.tool != "" {
		q = checkQuery{Tool: o.tool, Args: json.RawMessage(o.args)}
	}
	d := c.decide(cmd.Context(), q)
	if o.asJSON {
		err = printJSON(h.Stdout, answerOf(nil, d))
	} else {
		_, err = fmt.Fprintf(h.Stdout, "%s: %s\nrule: %s\n", d.Verdict, show.Visible(d.Reason), show.Visible(d.Rule))
	}
	if err != nil {
		return err
	}
	switch d.Verdict {
	case policy.Allow:
		return nil
	case policy.Ask:
		return quietError{exitNeedsInput}
	}
	return failIf(true)
}

func (o policyCheck) checker(h Host) (*checker, error) {
	p, box, err := o.permissions(h)
	if err != nil {
		return nil, err
	}
	if o.mode != "" {
		if p.Mode, err = policy.ParseMode(o.mode); err != nil {
			return nil, usagef("--mode: %w", err)
		}
	}
	e, err := local.New(local.Config{Dir: o.dir, Sandbox: box})
	if err != nil {
		return nil, usageError{err}
	}
	reg := &tool.Registry{}
	if err := reg.Register(coding.NewTools(coding.ToolConfig{})...); err != nil {
		return nil, err
	}
	reg.Alias(coding.NativeAliases()...)
	if !h.trusted(cmp.Or(o.dir, ".")) {
		p.Workspace.Git = func(ctx context.Context, dir string) string { return gitrisk.Runs(ctx, e, dir) }
	}
	return &checker{env: e, pipe: tool.Pipeline{
		Registry:  reg,
		Policy:    p.Rules,
		Mode:      p.Mode,
		Workspace: p.Workspace,
	}}, nil
}

// permissions returns the permissions from the file, or else from the configuration, with its sandbox.
func (o policyCheck) permissions(h Host) (list project.Permissions, box sandbox.Config, err error) {
	if o.rules != "" {
		list, err = h.machine().Rules(o.rules)
		return list, box, err
	}
	p, err := h.load(o.dir)
	if err != nil {
		return list, box, err
	}
	if list, err = p.Permissions(); err == nil {
		box, err = p.Sandbox()
	}
	return list, box, err
}

// checkQuery is a line of input for --jsonl.
type checkQuery struct {
	ID      json.RawMessage `json:"id"`
	Command *string         `json:"command"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
}

// checkAnswer is a line of output for --jsonl.
type checkAnswer struct {
	ID       json.RawMessage `json:"id,omitempty"`
	Decision policy.Verdict  `json:"decision"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason"`
	Code     string          `json:"code"`
}

func answerOf(id json.RawMessage, d policy.Decision) checkAnswer {
	return checkAnswer{
		ID:       id,
		Decision: d.Verdict,
		Rule:     d.Rule,
		Reason:   d.Reason,
		Code:     d.Code,
	}
}

// lines answers one query per line. A line that is not a query is denied.
func (c *checker) lines(ctx context.Context, in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriter(out)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var q checkQuery
			d := policy.Decision{Code: "invalid", Rule: "query"}
			if err := json.Unmarshal(line, &q); err != nil {
				d.Reason = "invalid query: " + err.Error()
			} else {
				d = c.decide(ctx, q)
			}
			b, err := json.Marshal(answerOf(q.ID, d))
			if err != nil {
				return err
			}
			if _, err := w.Write(append(b, '\n')); err != nil {
				return err
			}
			if r.Buffered() == 0 { // an interactive caller waits for the answer
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return w.Flush()
		case err != nil:
			return err
		}
	}
}

// decide judges a query. An unknown tool is judged by its name and, if they show what it does, by its arguments.
func (c *checker) decide(ctx context.Context, q checkQuery) policy.Decision {
	switch {
	case q.Command != nil:
		return c.judge(ctx, "shell", []policy.Access{{Kind: policy.Exec, Target: *q.Command}})
	case q.Tool == "":
		return policy.Decision{Code: "invalid", Rule: "query", Reason: "the query has neither a command nor a tool"}
	}
	out := c.pipe.Check(ctx, tool.Call{ID: "check", Name: q.Tool, Args: q.Args, Env: c.env})
	switch {
	case out.Result.Error == nil:
		return out.Decision
	case out.Result.Error.Code == tool.UnknownTool:
		return c.judge(ctx, q.Tool, c.guess(ctx, q))
	}
	d := out.Decision
	d.Reason = out.Result.Error.Message
	return d
}

// guess derives the accesses of another agent's tool from the names of its arguments.
func (c *checker) guess(ctx context.Context, q checkQuery) []policy.Access {
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Path     string `json:"path"`
		Notebook string `json:"notebook_path"`
		URL      string `json:"url"`
	}
	if json.Unmarshal(q.Args, &in) != nil || strings.HasPrefix(q.Tool, "mcp__") {
		return nil
	}
	kind := policy.Write
	switch q.Tool {
	case "Read", "LS", "Grep", "Glob", "NotebookRead":
		kind = policy.Read
	}
	for _, p := range []string{in.FilePath, in.Notebook, in.Path} {
		if p == "" {
			continue
		}
		real, err := c.env.RealPath(ctx, p)
		if err != nil {
			return nil
		}
		return []policy.Access{{Kind: kind, Target: real}}
	}
	switch {
	case in.Command != "":
		return []policy.Access{{Kind: policy.Exec, Target: in.Command}}
	case in.URL != "":
		return []policy.Access{{Kind: policy.Connect, Target: in.URL}}
	case kind == policy.Read:
		return []policy.Access{{Kind: policy.Read, Target: c.env.Info().Dir}}
	}
	return nil
}

func (c *checker) judge(ctx context.Context, name string, accesses []policy.Access) policy.Decision {
	w := c.pipe.Workspace
	info := c.env.Info()
	dir, err := c.env.RealPath(ctx, info.Dir)
	if err != nil {
		return policy.Decision{Code: "error", Rule: "policy", Reason: err.Error()}
	}
	w.Dir, w.Paths, w.Files, w.Shell = dir, info.Paths(), c.env, info.Shell
	w = w.Confined(c.env, c.pipe.Mode, accesses)
	return c.pipe.Policy.Decide(ctx, policy.Query{Tool: name, Accesses: accesses, Mode: c.pipe.Mode, Workspace: w})
}
