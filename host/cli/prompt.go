package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

var errNoPrompt = errors.New("there is no prompt: give one as an argument, or - to read it from standard input")

const (
	// patience is how long standard input may stay silent if no "-" says that it is to be read.
	patience = 5 * time.Second
	// maxInput is how much of standard input a prompt can take, in bytes. It is more than any model reads.
	maxInput = 8 << 20
)

// readPrompt returns the prompt: the arguments, and after them what is piped into standard input. An
// argument "-" asks for standard input. Without one, an input that is open but silent, as some CI
// systems leave it, does not hold up the run: it is given up after a while.
func readPrompt(ctx context.Context, h Host, args []string) (string, error) {
	words := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-" })
	prompt := strings.Join(words, " ")
	wanted := len(words) < len(args)
	if wanted || !isTerminal(h.Stdin) {
		wait := patience
		if wanted {
			wait = 0
		}
		piped, err := readInput(ctx, h.Stdin, wait)
		switch {
		case errors.Is(err, errSilent) && strings.TrimSpace(prompt) != "":
			aside(h, "standard input is open, but nothing came in %v: continuing without it (\"-\" waits for it, < /dev/null leaves it out)", patience)
		case err != nil && !errors.Is(err, errSilent):
			return "", err
		case strings.TrimSpace(prompt) == "":
			prompt = piped
		case strings.TrimSpace(piped) != "":
			prompt += "\n\n" + piped
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usageError{errNoPrompt}
	}
	return prompt, nil
}

// errSilent says that nothing came from an input for too long.
var errSilent = errors.New("standard input is silent")

// readInput reads a stream to its end, or until ctx ends. It is errSilent if nothing comes at first for
// longer than the patience; 0 is no limit. A stream that cannot be read at all is empty: a program may
// be started without standard input.
func readInput(ctx context.Context, in io.Reader, patience time.Duration) (string, error) {
	type outcome struct {
		text []byte
		err  error
	}
	begun, read := make(chan struct{}), make(chan outcome, 1)
	go func() {
		first := make([]byte, 1)
		if _, err := io.ReadFull(in, first); err != nil {
			close(begun)
			read <- outcome{}
			return
		}
		close(begun)
		rest, err := io.ReadAll(io.LimitReader(in, maxInput))
		read <- outcome{append(first, rest...), err}
	}()
	var silence <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		silence = timer.C
	}
	select {
	case <-begun:
	case <-silence:
		return "", errSilent
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	select {
	case r := <-read:
		switch {
		case r.err != nil:
			return "", fmt.Errorf("standard input is not readable: %w", r.err)
		case len(r.text) > maxInput:
			return "", usagef("standard input is larger than %d MiB: save it in a file and name the file in the prompt", maxInput>>20)
		}
		return string(r.text), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
