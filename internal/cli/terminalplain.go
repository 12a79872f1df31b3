package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/reins-agent/reins/internal/tui"
	lineface "github.com/reins-agent/reins/internal/tui/plain"
	"github.com/reins-agent/reins/session"
)

// lines shows the session that the flags name in lines, on a terminal or through pipes.
func (f *interactive) lines(ctx context.Context, h Host, prompt string) error {
	if f.choose {
		return usagef("give --resume an ID, which \"reins sessions list\" shows")
	}
	w := &window{host: h, flags: f.run, given: prompt, notes: new(tui.Notes)}
	w.host.Stdin = strings.NewReader("") // questions are asked through the session
	ctx, stop := endedBySignals(ctx)
	defer stop()
	first, err := w.first(ctx)
	if err != nil {
		return err
	}
	last, err := lineface.Run(ctx, lineface.Options{
		Handle: first,
		In:     h.Stdin,
		Out:    h.Stdout,
		Prompt: prompt,
		Echo:   !isTerminal(h.Stdin),
		Bell:   isTerminal(h.Stdout),
		Open:   w.open,
	})
	return errors.Join(err, h.leave(last))
}

// endedBySignals returns a context that ends with SIGTERM and SIGHUP. An interrupt is for the session.
func endedBySignals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// leave closes a session and tells how to continue it.
func (h Host) leave(s session.Handle) error {
	info, err := s.Info(context.Background())
	if err == nil && info.Saved && info.Title != "" {
		fmt.Fprintf(h.Stderr, "Continue with: reins --resume %s\n", info.ID)
	}
	return s.Close()
}
