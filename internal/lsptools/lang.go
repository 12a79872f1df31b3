// Package lsptools provides tools that use language servers: lsp answers questions about code and renames symbols, and
// read_lints returns diagnostics of compilers and checkers. [Tools.Diagnose] adds new errors to the results of edits.
package lsptools

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Config configures the use of language servers.
type Config struct {
	// Enabled offers the tools and diagnoses edits. Servers that are not installed are not used.
	Enabled bool
	// Timeout is how long an edit waits for diagnostics. It defaults to 2 seconds.
	Timeout time.Duration
	// Commands overrides the command lines of servers, by name: a program and its arguments, separated by spaces. "off"
	// disables a server.
	Commands map[string]string
}

// Limits for the tools.
const (
	defaultTimeout = 2 * time.Second
	maxTime        = time.Minute      // maximum time per call, which may have to start a server
	lintTime       = 30 * time.Second // maximum wait for a file's diagnostics
	maxShown       = 100              // results per call
	maxLints       = 50
	maxNoted       = 10 // errors in an edit's result
	maxPaths       = 20 // files per edit or call
)

// Servers returns the servers that the configuration selects.
func (c Config) Servers() []lsp.Server {
	all := lsp.Servers()
	for i, s := range all {
		switch command := c.Commands[s.Name]; command {
		case "":
		case "off":
			all[i].Command = nil
		default:
			all[i].Command = strings.Fields(command)
		}
	}
	return all
}

// Tools are the tools in a session.
type Tools struct {
	servers *lsp.Workspace
	config  Config
	files   tools.Config
	told    atomic.Bool // the model was told that diagnostics are late
}

// New returns the tools. Renames use files, the coding tools' configuration.
func New(w *lsp.Workspace, c Config, files tools.Config) *Tools {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	return &Tools{servers: w, config: c, files: files}
}

// All returns the tools.
func (t *Tools) All() []tool.Tool { return []tool.Tool{t.lspTool(), t.lintTool()} }

// reads declares read accesses to paths.
func reads(ctx context.Context, e env.Environment, paths ...string) []policy.Access {
	all := []policy.Access{}
	for _, p := range paths {
		real, err := e.RealPath(ctx, p)
		if err != nil {
			real = p
		}
		all = append(all, policy.Access{Kind: policy.Read, Target: real})
	}
	return all
}

// failed returns the failure for a language server's error.
func failed(err error) *tool.Error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return known
	case unavailable(err):
		return tool.Errorf(tool.IOError, "No answer: %v. Use grep and read_file instead.", err)
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(
			tool.IOError,
			"The language server did not answer in time. It may still be loading the project; try again later, or use grep.",
		)
	case errors.Is(err, context.Canceled):
		return tool.Errorf(tool.Cancelled, "Interrupted.")
	}
	return tool.Errorf(tool.IOError, "The language server failed: %v", err)
}

// unavailable reports whether an error means that no server is usable.
func unavailable(err error) bool {
	return slices.ContainsFunc(
		[]error{lsp.ErrNoServer, lsp.ErrNotInstalled, lsp.ErrUntrusted},
		func(e error) bool { return errors.Is(err, e) },
	)
}
