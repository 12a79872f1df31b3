package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

var errNoPrompt = errors.New("there is no prompt: give one as an argument, or - to read it from standard input")

// patience is how long standard input may stay silent if nobody said that it is to be read.
const patience = 5 * time.Second

// readPrompt joins the arguments; "-", or none with something piped in, is standard input. An input
// that is open and silent does not hold it up: unless "-" asked for it, it is given up soon.
func readPrompt(ctx context.Context, h Host, args []string) (string, error) {
	prompt := strings.Join(args, " ")
	var err error
	switch {
	case prompt == "-":
		prompt, err = readInput(ctx, h.Stdin, 0)
	case prompt == "" && !isTerminal(h.Stdin):
		prompt, err = readInput(ctx, h.Stdin, patience)
	}
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usageError{errNoPrompt}
	}
	return prompt, nil
}

// readInput reads a stream to its end, or until ctx ends. If it begins with nothing for longer than
// the patience, which 0 does not bound, it is taken for empty.
func readInput(ctx context.Context, in io.Reader, patience time.Duration) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	begun, read := make(chan struct{}), make(chan outcome, 1)
	go func() {
		first := make([]byte, 1)
		_, err := io.ReadFull(in, first)
		close(begun)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			read <- outcome{"", err}
			return
		}
		rest, err := io.ReadAll(in)
		read <- outcome{string(first) + string(rest), err}
	}()
	if patience > 0 {
		silence := time.NewTimer(patience)
		defer silence.Stop()
		select {
		case <-begun:
		case <-silence.C:
			return "", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	select {
	case r := <-read:
		if r.err != nil {
			return "", fmt.Errorf("standard input is not readable: %w", r.err)
		}
		return r.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
