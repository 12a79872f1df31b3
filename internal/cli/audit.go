package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/audit"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/project"
)

func newAudit(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "audit",
		Short: "Show and verify the audit log",
		Long: `Show and verify the audit log, which has one line for each tool call: what was
called, why it was permitted or refused, and what it changed. Secrets in it are
replaced by placeholders.`,
	}, newAuditShow(h), newAuditTail(h), newAuditVerify(h))
}

// auditPath returns the file of the audit log, even if it is disabled now.
func auditPath(h Host) (string, error) {
	o := h.options(".")
	o.Trust = project.TrustNo
	p, err := project.Load(context.Background(), o)
	if err != nil {
		return "", err
	}
	return p.AuditPath()
}

// auditFilter selects lines.
type auditFilter struct {
	session, tool, since string
	asJSON               bool

	after time.Time
}

func (f *auditFilter) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.session, "session", "", "only calls in session `ID`, which can be a prefix")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only calls to this tool")
	jsonFlag(cmd, &f.asJSON)
}

func (f *auditFilter) selects(l audit.Line) bool {
	return (f.session == "" || len(l.Trace) >= len(f.session) && strings.EqualFold(l.Trace[:len(f.session)], f.session)) &&
		(f.tool == "" || l.Name == f.tool || l.Tool == f.tool) && !l.Time.Before(f.after)
}

func newAuditShow(h Host) *cobra.Command {
	var f auditFilter
	cmd := &cobra.Command{
		Use:   "show",
		Short: "List tool calls",
		Example: `  reins audit show --since 1d
  reins audit show --session K3ZQ --tool shell
  reins audit show --json | jq -r 'select(.ok | not) | .decision.reason'`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if f.after, err = parseSince(f.since); err != nil {
				return err
			}
			path, err := auditPath(h)
			if err != nil {
				return err
			}
			return f.show(cmd.Context(), h, path)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.since, "since", "", "only calls within the last `AGE`, such as 7d, 2w or 12h")
	return cmd
}

// show prints the selected lines, and reports damaged ones.
func (f *auditFilter) show(ctx context.Context, h Host, path string) error {
	t := &show.Table{Columns: []show.Column{
		{Title: "TIME"}, {Title: "SESSION", Max: 26}, {Title: "TOOL", Colour: show.Cyan, Max: 32}, {Title: "RESULT", Max: 32},
		{Title: "DECISION", Max: 48}, {Title: "CALL"},
	}}
	none, damaged := "no tool calls", false
	if f.session+f.tool+f.since != "" {
		none = "no matching tool calls"
	}
	for l, err := range audit.Read(path, 0) {
		var bad *audit.LineError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.As(err, &bad):
			return err
		case err != nil:
			damaged = true
			notef(h, "%v", err)
		case !f.selects(l):
		case f.asJSON:
			if err := printJSON(h.Stdout, l); err != nil {
				return err
			}
		default:
			t.Add(shortTime(h, l.Time), show.OneLine(l.Trace), show.OneLine(l.Name), auditResult(l), auditDecision(l), auditCall(h, l))
		}
	}
	if !f.asJSON {
		if err := printList(h, t, none); err != nil {
			return err
		}
	}
	return failIf(damaged)
}

// auditResult returns how a call ended.
func auditResult(l audit.Line) string {
	if l.OK {
		return "ok"
	}
	return cmp.Or(show.OneLine(l.Error), "failed")
}

// auditDecision returns why a call was permitted or refused.
func auditDecision(l audit.Line) string {
	text := l.Decision.Verdict
	if a := l.Approval; a != nil {
		text = "not approved"
		if a.Allowed {
			text = "approved"
		}
	}
	return show.OneLine(text + " (" + l.Decision.Rule + ")")
}

// auditCall returns what a call did.
func auditCall(h Host, l audit.Line) string {
	switch {
	case len(l.CommandsRun) > 0:
		return brief(h, strings.Join(l.CommandsRun, "; "))
	case len(l.FilesChanged) > 0:
		return brief(h, strings.Join(l.FilesChanged, " "))
	}
	return brief(h, string(l.Args))
}

// tailEvery is how often "audit tail -f" looks for new lines.
const tailEvery = 200 * time.Millisecond

func newAuditTail(h Host) *cobra.Command {
	var f auditFilter
	var follow bool
	var count int
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the last tool calls",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 0 {
				return usagef("--lines must not be negative")
			}
			path, err := auditPath(h)
			if err != nil {
				return err
			}
			return f.tail(cmd.Context(), h, path, count, follow)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait for new calls and print them")
	cmd.Flags().IntVarP(&count, "lines", "n", 10, "number of calls to print")
	return cmd
}

// tail prints the last lines and, with follow, new ones as they are added.
func (f *auditFilter) tail(ctx context.Context, h Host, path string, count int, follow bool) error {
	seen, lines, err := f.news(h, path, 0)
	if err != nil {
		return err
	}
	lines = lines[max(0, len(lines)-count):]
	for {
		for _, l := range lines {
			if err := f.print(h, l); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(tailEvery):
		}
		if seen, lines, err = f.news(h, path, seen); err != nil {
			return err
		}
	}
}

// news returns the selected lines after a line number, and the number of the last line.
func (f *auditFilter) news(h Host, path string, after int64) (last int64, lines []audit.Line, err error) {
	last = after
	for l, err := range audit.Read(path, after) {
		var bad *audit.LineError
		switch {
		case errors.As(err, &bad):
			if after == 0 {
				notef(h, "%v", err)
			}
			continue
		case err != nil:
			return last, nil, err
		}
		if last = l.Seq; f.selects(l) {
			lines = append(lines, l)
		}
	}
	return last, lines, nil
}

// print prints one line.
func (f *auditFilter) print(h Host, l audit.Line) error {
	if f.asJSON {
		return printJSON(h.Stdout, l)
	}
	_, err := fmt.Fprintf(
		h.Stdout,
		"%s  %s  %s  %s  %s  %s\n",
		l.Time.Local().Format(time.RFC3339),
		show.OneLine(l.Trace),
		show.OneLine(l.Name),
		auditResult(l),
		auditDecision(l),
		auditCall(h, l),
	)
	return err
}

// auditReport is the result of a verification as JSON.
type auditReport struct {
	OK       bool     `json:"ok"`
	Lines    int      `json:"lines"`
	First    int64    `json:"first"`
	Last     int64    `json:"last"`
	Hash     string   `json:"hash"`
	Problems []string `json:"problems"`
	Notes    []string `json:"notes"`
}

func newAuditVerify(h Host) *cobra.Command {
	var expect string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the audit log for changes",
		Long: `Check that no line of the audit log was changed, removed or reordered. Print the
hash of the last line. The exit code is 1 if there are problems.

Anyone who can write the log can also rewrite all of it with new hashes. To
detect that, save the hash elsewhere and pass it with --expect later: the log
must still contain the line with this hash.`,
		Example: `  reins audit verify
  reins audit verify --expect "$(cat /mnt/backup/audit-hash)"`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("expect") && !isHash(expect) {
				return usagef("--expect: %q is not a hash of 64 hexadecimal digits", expect)
			}
			path, err := auditPath(h)
			if err != nil {
				return err
			}
			return verifyAudit(h, path, expect, asJSON)
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "`HASH` of a line that the log must contain")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func verifyAudit(h Host, path, expect string, asJSON bool) error {
	r, err := audit.Verify(path, expect)
	if err != nil {
		return err
	}
	if asJSON {
		err := printJSON(h.Stdout, auditReport{r.OK(), r.Lines, r.First, r.Last, r.Hash, orEmpty(r.Problems), orEmpty(r.Notes)})
		return cmp.Or(err, failIf(!r.OK()))
	}
	for _, n := range r.Notes {
		notef(h, "%s", n)
	}
	for _, p := range r.Problems {
		if _, err := fmt.Fprintln(h.Stdout, show.OneLine(p)); err != nil {
			return err
		}
	}
	if !r.OK() {
		notef(h, "%s in %s", show.Plural(len(r.Problems), "problem"), shortDir(h, path))
		return failIf(true)
	}
	if r.Lines == 0 {
		_, err = fmt.Fprintln(h.Stdout, "the audit log is empty")
		return err
	}
	_, err = fmt.Fprintf(h.Stdout, "%s, no problems\nlast hash %s\n", show.Plural(r.Lines, "line"), r.Hash)
	return err
}
