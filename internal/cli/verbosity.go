package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/view"
)

// verbosity is how much a run tells on standard error.
type verbosity struct {
	quiet   bool // only questions, warnings and what went wrong
	verbose bool // also thinking, model calls, the output of every command, and whole diffs
}

func (l *verbosity) flags(f *pflag.FlagSet) {
	f.BoolVarP(&l.quiet, "quiet", "q", false, "print only the result, warnings and errors")
	f.BoolVar(&l.verbose, "verbose", false, "also print thinking, model calls, the output of every command, and whole diffs")
}

func (l verbosity) check() error {
	if l.quiet && l.verbose {
		return usagef("--quiet and --verbose cannot be combined")
	}
	return nil
}

// callText describes a model call.
func callText(d event.ModelCallEnd) string {
	text := fmt.Sprintf("%s: %s tokens in, %s out", show.OneLine(d.Model), show.Tokens(d.Usage.Input), show.Tokens(d.Usage.Output))
	if d.Cost != nil {
		text += ", " + show.SmallPrice(*d.Cost)
	}
	return text + ", " + show.Duration(d.Duration)
}

// thoughts prints what the model thought, with --verbose.
func (v *textView) thoughts(prefix string, changed []view.Key) {
	if !v.level.verbose {
		return
	}
	for _, key := range changed {
		i, ok := v.state.Find(key)
		if !ok || v.state.Item(i).Kind != view.KindReasoning {
			continue
		}
		for line := range strings.Lines(show.Visible(v.state.Item(i).Text)) {
			if line = strings.TrimRight(line, " \t\r\n"); line != "" {
				v.line(prefix, "thinks: "+line)
			}
		}
	}
}

// slowStep is how long a step may take before it is shown.
const slowStep = time.Second

// progress shows on the terminal what is done, if it takes more than a second. The returned function ends it.
func (l verbosity) progress(h Host, what string) (done func()) {
	if l.quiet || !isTerminal(h.Stderr) {
		return func() {}
	}
	timer := time.AfterFunc(slowStep, func() { notef(h, "%s", what) })
	return func() { timer.Stop() }
}
