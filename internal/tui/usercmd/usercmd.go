// Package usercmd runs a command line that the user typed after "!", with the user's own rights, and words its output as a
// message for the conversation.
package usercmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/show"
)

// maxOutput limits the output that the model reads, in bytes: its start and its end are kept.
const maxOutput = 30_000

// Run runs a command line in a directory, without a sandbox and without input. Output arrives at out, one call at a time,
// as the command writes it. When ctx ends, the command and its descendants are killed. The message has the command, its
// output and its exit status, also if it was interrupted.
func Run(ctx context.Context, dir, line string, out func([]byte)) (message string, err error) {
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		return "", fmt.Errorf("cannot run %q: %w", show.OneLine(line), err)
	}
	defer e.Close()
	res, err := env.Exec(ctx, e, env.Command{
		Line:      line,
		Merge:     true,
		MaxOutput: maxOutput,
		OnOutput:  func(_ env.Stream, p []byte) { out(p) },
	})
	switch {
	case ctx.Err() != nil:
		return words(line, "it was interrupted", res.Combined), nil
	case err != nil:
		return "", fmt.Errorf("cannot run %q: %w", show.OneLine(line), err)
	case res.Signal != "":
		return words(line, "it was ended by "+res.Signal, res.Combined), nil
	}
	return words(line, fmt.Sprintf("exit status %d", res.Code), res.Combined), nil
}

// words tells the model which command the user ran, and how it ended.
func words(line, end, output string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "I ran this command myself:\n\n    %s\n\n", strings.ReplaceAll(line, "\n", "\n    "))
	if strings.TrimSpace(output) == "" {
		fmt.Fprintf(&b, "It wrote nothing; %s.", end)
		return b.String()
	}
	fmt.Fprintf(&b, "Its output (%s):\n\n%s", end, strings.TrimRight(output, "\n"))
	return b.String()
}

// LineTime is how long a command that writes one line may take.
const LineTime = 2 * time.Second

// maxLine is how much of the output of a command that writes one line is read, in bytes.
const maxLine = 4096

// Line runs a command line in a directory with an input, without a sandbox and without a terminal, and returns its first
// line of output. A command that fails, or takes longer than most, is an error.
func Line(ctx context.Context, dir, line string, input []byte, most time.Duration) (string, error) {
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		return "", err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	res, err := env.Exec(ctx, e, env.Command{Line: line, Stdin: bytes.NewReader(input), MaxOutput: maxLine})
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return "", fmt.Errorf("it took longer than %s", show.Duration(most))
	case err != nil:
		return "", err
	case res.Code != 0 || res.Signal != "":
		end := cmp.Or(res.Signal, fmt.Sprintf("exit status %d", res.Code))
		return "", fmt.Errorf("%s", strings.TrimSuffix(end+": "+show.Summary(string(res.Stderr)), ": "))
	}
	first, _, _ := strings.Cut(string(res.Stdout), "\n")
	return show.OneLine(first), nil
}
