package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/checkpoint"
)

// laterFlags say what becomes of files that were changed after the agent had left them.
type laterFlags struct{ yes, keep bool }

func (f *laterFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "take back what you changed yourself since, too")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave files as they are that you changed yourself since")
}

func (f laterFlags) check() error {
	if f.yes && f.keep {
		return usagef("--yes takes back what you changed yourself, and --keep leaves it: give one or the other")
	}
	return nil
}

// decide lists such files and asks what becomes of them.
func (f laterFlags) decide(ctx context.Context, h Host, e *checkpoint.LaterError) (checkpoint.Later, error) {
	switch {
	case f.yes:
		return checkpoint.Overwrite, nil
	case f.keep && e.Unknown:
		return checkpoint.Refuse, usagef("--keep cannot tell your changes from those of the agent, because its run was cut off; --yes takes all of them back")
	case f.keep:
		return checkpoint.Keep, nil
	}
	why, choice, flags := "changed after the agent had left them:", "Take them back too? y yes, k keep them as they are, n no: ", "--yes takes them back too, --keep leaves them as they are"
	if e.Unknown {
		why, choice, flags = "to be set back; the run was cut off, so your own changes cannot be told from its:", "Set them back? y yes, n no: ", "--yes sets them back"
	}
	aside(h, "%s", why)
	for _, c := range e.Changes {
		mark, _ := changeMark(c.Kind)
		fmt.Fprintf(h.Stderr, "  %s %s\n", mark, inLine(c.Path))
	}
	a := &asker{host: h, view: &jsonView{questions: h.Stderr}}
	if a.nobody() {
		aside(h, "nothing was done, and nobody is there to ask; %s", flags)
		return checkpoint.Refuse, quietError{exitNeedsInput}
	}
	answer, err := a.ask(ctx, choice)
	if err != nil && !errors.Is(err, errNoAnswer) {
		return checkpoint.Refuse, err
	}
	switch answer = strings.ToLower(answer); {
	case answer == "y" || answer == "yes":
		return checkpoint.Overwrite, nil
	case (answer == "k" || answer == "keep") && !e.Unknown:
		return checkpoint.Keep, nil
	}
	aside(h, "nothing was done")
	return checkpoint.Refuse, quietError{exitFailed}
}
