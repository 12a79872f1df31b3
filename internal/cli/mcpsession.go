package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/tool"
)

// servers are a run's MCP servers.
type servers struct {
	host       Host
	list       map[string]mcp.Server
	wait       time.Duration // how long the first model call waits for them
	deferAbove int           // bytes of definitions
	elicit     func(ctx context.Context, server string, q mcp.ElicitRequest) (mcp.ElicitAnswer, error)
	sample     func(ctx context.Context, server string, q mcp.SampleRequest) (mcp.SampleAnswer, error)
	logs       serverLogs
	memory     serverMemory
	failed     map[string]string // servers that failed last time, with the reason

	mu       sync.Mutex
	client   *mcp.Client
	env      env.Environment
	session  *agent.Session
	deferred bool
	pending  []mcp.Change // changes before the session was opened
	reported map[string]bool
	records  map[string]serverRecord // what is remembered about the servers
}

// extend is a coding.Extension. It connects to the servers and returns their tools. It waits for a limited time; tools of
// slower servers are added later.
func (s *servers) extend(ctx context.Context, h *coding.Host) (coding.Feature, error) {
	client := mcp.Open(ctx, mcp.Config{
		Env: h.Env, Servers: s.list, Version: Version, Roots: []string{h.Env.Info().Dir},
		Elicit: s.elicit, Sample: s.sample, Token: s.host.token(s.list), Log: s.logs.write, OnChange: s.changed,
	})
	s.mu.Lock()
	s.client, s.env = client, h.Env
	s.mu.Unlock()
	s.failed = map[string]string{}
	for name, r := range s.records {
		if r.Failure != "" {
			s.failed[name] = r.Failure
		}
	}
	client.Wait(ctx, s.wait, slices.Collect(maps.Keys(s.failed))...)
	s.report(client.Status())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = nil // they are in the list
	return coding.Feature{
		Tools:  s.offer(client.Tools()),
		Prompt: feature.About(client.Status()),
		Follow: s.attach,
		Close:  s.Close,
	}, nil
}

// offer defers the tools if their definitions are too long in total. Once deferred, they stay deferred, so that the
// beginning of requests does not change.
func (s *servers) offer(tools []tool.Tool) []tool.Tool {
	s.deferred = s.deferred || s.deferAbove > 0 && tool.DefinitionSize(tools) > s.deferAbove
	if !s.deferred {
		return tools
	}
	later := make([]tool.Tool, len(tools))
	for i, t := range tools {
		later[i] = tool.Defer(t)
	}
	return later
}

// attach passes tool changes to the session from now on. Changes that arrive meanwhile wait, so that they keep
// their order.
func (s *servers) attach(_ context.Context, session *agent.Session) error {
	for {
		s.mu.Lock()
		pending := s.pending
		if s.pending = nil; len(pending) == 0 {
			s.session = session
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		for _, c := range pending {
			s.apply(session, c)
		}
	}
}

// changed passes a tool change to the session.
func (s *servers) changed(c mcp.Change) {
	s.mu.Lock()
	session := s.session
	if session == nil {
		s.pending = append(s.pending, c)
	}
	s.mu.Unlock()
	if session != nil {
		s.apply(session, c)
	}
}

// apply changes the session's tools.
func (s *servers) apply(session *agent.Session, c mcp.Change) {
	s.mu.Lock()
	add, client := s.offer(c.Add), s.client
	s.mu.Unlock()
	s.report(client.Status())
	if len(add)+len(c.Remove) == 0 {
		return
	}
	if err := session.Reconfigure(context.Background(), agent.Change{Add: add, Remove: c.Remove}); err != nil && !errors.Is(err, agent.ErrClosed) {
		notef(s.host, "cannot apply MCP tool changes: %v", err)
	}
}

// report prints which servers and tools cannot be used, each of them once.
func (s *servers) report(list []mcp.Status) {
	for _, st := range list {
		var lines []string
		switch st.State {
		case mcp.Failed:
			lines = append(lines, fmt.Sprintf("MCP server %s failed: %v%s", st.Name, st.Err, confinedHint(s.list[st.Name], s.env)))
		case mcp.NeedsAuth:
			lines = append(lines, fmt.Sprintf(`MCP server %s needs authorization; run "reins mcp login %s"`, st.Name, st.Name))
		case mcp.Pending:
			lines = append(lines, s.pendingLine(st))
		}
		s.remember(st)
		for _, q := range st.LeftOut {
			lines = append(lines, fmt.Sprintf("MCP server %s: skipping tool %s: %s", st.Name, show.OneLine(q.Tool), show.Summary(q.Reason)))
		}
		for _, line := range lines {
			s.mu.Lock()
			again := s.reported[line]
			if s.reported == nil {
				s.reported = map[string]bool{}
			}
			s.reported[line] = true
			s.mu.Unlock()
			if !again {
				notef(s.host, "%s", show.FirstLine(show.OneLine(line)))
			}
		}
	}
}

// pendingLine says why the run does not wait for a server.
func (s *servers) pendingLine(st mcp.Status) string {
	last := s.failed[st.Name]
	if last == "" {
		return fmt.Sprintf("MCP server %s is still starting; its tools are added when it is ready", st.Name)
	}
	return fmt.Sprintf("MCP server %s failed last time (%s); it is tried again in the background", st.Name, last)
}

// remember saves whether a server could be used, so that the next run does not wait for one that fails. Errors are
// ignored, because servers work without that.
func (s *servers) remember(st mcp.Status) {
	failure := ""
	switch {
	case st.State == mcp.Failed && st.Err != nil:
		failure = show.Summary(st.Err.Error())
	case st.State == mcp.Pending:
		failure = fmt.Sprintf("it did not answer within %v", s.wait)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[st.Name]
	if r.Failure == failure || r.Failure != "" && st.State == mcp.Pending {
		return
	}
	r.Failure = failure
	s.records[st.Name] = r
	_ = s.memory.set(r)
}

// command expands a server prompt that the user names, if any; s may be nil.
func (s *servers) command(ctx context.Context, input string) ([]llm.Part, bool, error) {
	if s == nil {
		return nil, false, nil
	}
	return s.client.Command(ctx, input)
}

// confinedHint says that a server runs in the sandbox, which may be why it fails.
func confinedHint(s mcp.Server, e env.Environment) string {
	l := e.Info().Limits
	if s.Command == "" || s.Unconfined || l == nil || l.Sandbox == "" {
		return ""
	}
	if l.Network || len(l.Hosts) > 0 {
		return `; it runs in the sandbox, see --unconfined in "reins mcp add --help"`
	}
	return `; it runs in the sandbox without network, see --unconfined in "reins mcp add --help"`
}

// Close disconnects from the servers.
func (s *servers) Close() error {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil
	}
	for _, st := range client.Status() {
		if st.State == mcp.Failed || st.State == mcp.Connected {
			s.remember(st)
		}
	}
	return errors.Join(client.Close(), s.logs.Close())
}

// maxServerLog is the size at which a server log is rotated. One old log is kept.
const maxServerLog = 1 << 20

// serverLogs keeps what servers write to standard error, a file for each. Without a directory it keeps nothing.
type serverLogs struct {
	dir string

	mu    sync.Mutex
	files map[string]*os.File
	sizes map[string]int64
}

func serverLog(dir, name string) string { return filepath.Join(dir, url.PathEscape(name)+".log") }

// write adds a line to a server log. Errors are ignored, because servers work without their logs.
func (l *serverLogs) write(name string, line []byte) {
	if l.dir == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.open(name)
	if err != nil {
		return
	}
	n, _ := fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), strings.TrimRight(string(line), "\r\n"))
	l.sizes[name] += int64(n)
}

// open returns a server log. The caller must hold mu.
func (l *serverLogs) open(name string) (*os.File, error) {
	path := serverLog(l.dir, name)
	if f := l.files[name]; f != nil {
		if l.sizes[name] < maxServerLog {
			return f, nil
		}
		f.Close()
		delete(l.files, name)
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if l.files == nil {
		l.files, l.sizes = map[string]*os.File{}, map[string]int64{}
	}
	l.files[name] = f
	l.sizes[name], err = f.Seek(0, io.SeekEnd)
	return f, err
}

func (l *serverLogs) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, f := range l.files {
		err = errors.Join(err, f.Close())
	}
	l.files = nil
	return err
}

// mcpServers returns the run's MCP servers, or nil if there are none.
func (r *opener) mcpServers(ctx context.Context, k coding.Connection) (*servers, error) {
	o := r.flags
	if o.noMCP || o.settings == nil {
		return nil, nil
	}
	src, err := r.host.sources(cmp.Or(o.dir, "."), nil)
	if err != nil {
		return nil, err
	}
	found, err := r.host.findServers(src.Dir, o.trust, o.mcpConfig)
	if err != nil {
		return nil, err
	}
	var memory serverMemory
	if !o.noSave {
		memory = r.host.serverMemory(src.Dir)
	}
	if err := permitLaunchers(found, o.box, r.host.serverMemory(src.Dir), r.asker.launcher(ctx)); err != nil {
		return nil, err
	}
	list := r.host.activeServers(found)
	if len(list) == 0 {
		return nil, nil
	}
	const bytesPerToken = 4
	s := &servers{host: r.host, list: list, wait: time.Duration(o.settings.MCP.Wait) * time.Second, deferAbove: o.settings.MCP.DeferAbove * bytesPerToken, memory: memory, records: map[string]serverRecord{}}
	for _, f := range found {
		if _, used := list[f.name]; used && f.inactive == "" {
			s.records[f.name] = memory.get(f)
		}
	}
	if !r.alone {
		s.elicit = r.elicit
		if o.budget == 0 { // what servers spend is not counted
			s.sample = sampling{r, k}.sample
		}
	}
	if dir, err := stateDir(r.host); err == nil && !o.noSave {
		s.logs.dir = dir.MCPLogs()
	}
	return s, nil
}
