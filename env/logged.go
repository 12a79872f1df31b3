package env

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Logged returns an environment that passes every call to e and logs it: commands and changes at level Info, reads at
// Debug, with arguments, duration and error. A command's exit is logged when Wait or Stop first reports it. Command
// lines are logged; file contents and command output never are.
func Logged(e Environment, l *slog.Logger) Wrapper { return &logged{e, l} }

type logged struct {
	Environment
	log *slog.Logger
}

func (l *logged) Unwrap() Environment { return l.Environment }

func (l *logged) NoLinks(Environment) Environment { return &logged{NoLinks(l.Environment), l.log} }

// Below logs the operation as a read when it ends.
func (l *logged) Below(ctx context.Context, op, path string) (string, func(error), error) {
	start := time.Now()
	return path, func(err error) { l.record(ctx, slog.LevelDebug, op, start, err, slog.String("path", path)) }, nil
}

// record logs one finished call.
func (l *logged) record(ctx context.Context, level slog.Level, op string, start time.Time, err error, attrs ...slog.Attr) {
	if !l.log.Enabled(ctx, level) {
		return
	}
	attrs = append(attrs, slog.Duration("took", time.Since(start)))
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	l.log.LogAttrs(ctx, level, op, attrs...)
}

func (l *logged) Stat(ctx context.Context, path string) (FileInfo, error) {
	start := time.Now()
	fi, err := l.Environment.Stat(ctx, path)
	l.record(ctx, slog.LevelDebug, "stat", start, err, slog.String("path", path))
	return fi, err
}

func (l *logged) Lstat(ctx context.Context, path string) (FileInfo, error) {
	start := time.Now()
	fi, err := l.Environment.Lstat(ctx, path)
	l.record(ctx, slog.LevelDebug, "lstat", start, err, slog.String("path", path))
	return fi, err
}

func (l *logged) RealPath(ctx context.Context, path string) (string, error) {
	start := time.Now()
	real, err := l.Environment.RealPath(ctx, path)
	l.record(ctx, slog.LevelDebug, "resolve", start, err, slog.String("path", path))
	return real, err
}

func (l *logged) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	start := time.Now()
	f, err := l.Environment.Open(ctx, path)
	l.record(ctx, slog.LevelDebug, "open", start, err, slog.String("path", path))
	return f, err
}

func (l *logged) ReadDir(ctx context.Context, path string) ([]FileInfo, error) {
	start := time.Now()
	list, err := l.Environment.ReadDir(ctx, path)
	l.record(ctx, slog.LevelDebug, "read directory", start, err, slog.String("path", path), slog.Int("entries", len(list)))
	return list, err
}

func (l *logged) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	start := time.Now()
	err := l.Environment.WriteFile(ctx, path, data, perm)
	l.record(ctx, slog.LevelInfo, "write", start, err, slog.String("path", path), slog.Int("bytes", len(data)))
	return err
}

func (l *logged) Remove(ctx context.Context, path string) error {
	start := time.Now()
	err := l.Environment.Remove(ctx, path)
	l.record(ctx, slog.LevelInfo, "remove", start, err, slog.String("path", path))
	return err
}

func (l *logged) Rename(ctx context.Context, from, to string) error {
	start := time.Now()
	err := l.Environment.Rename(ctx, from, to)
	l.record(ctx, slog.LevelInfo, "rename", start, err, slog.String("from", from), slog.String("to", to))
	return err
}

func (l *logged) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	start := time.Now()
	err := l.Environment.Mkdir(ctx, path, perm)
	l.record(ctx, slog.LevelInfo, "make directory", start, err, slog.String("path", path))
	return err
}

func (l *logged) Start(ctx context.Context, c Command) (Process, error) {
	start := time.Now()
	p, err := l.Environment.Start(ctx, c)
	line := c.Line
	if line == "" {
		line = strings.Join(c.Args, " ")
	}
	attrs := []slog.Attr{slog.String("command", line), slog.String("dir", c.Dir)}
	if err == nil {
		attrs = append(attrs, slog.Int("pid", p.PID()))
	}
	l.record(ctx, slog.LevelInfo, "start", start, err, attrs...)
	if err != nil {
		return nil, err
	}
	return &loggedProcess{Process: p, log: l.log}, nil
}

func (l *logged) Close() error {
	start := time.Now()
	err := l.Environment.Close()
	l.record(context.Background(), slog.LevelInfo, "close", start, err)
	return err
}

// loggedProcess logs a process's exit once.
type loggedProcess struct {
	Process
	log  *slog.Logger
	once sync.Once
}

func (p *loggedProcess) Wait(ctx context.Context) (Exit, error) {
	x, err := p.Process.Wait(ctx)
	p.ended(ctx, x, err)
	return x, err
}

func (p *loggedProcess) Stop(ctx context.Context) (Exit, error) {
	x, err := p.Process.Stop(ctx)
	p.ended(ctx, x, err)
	return x, err
}

func (p *loggedProcess) ended(ctx context.Context, x Exit, err error) {
	if err != nil {
		return
	}
	p.once.Do(func() {
		p.log.LogAttrs(ctx, slog.LevelInfo, "exit", slog.Int("pid", p.PID()), slog.Int("code", x.Code),
			slog.Bool("timed_out", x.TimedOut), slog.Int("orphans", x.Orphans), slog.Duration("took", x.Duration))
	})
}
