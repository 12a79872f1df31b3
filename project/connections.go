package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/mcp"
)

// ServerConfig returns the configuration of connections to servers, with their authorizations and logs. Close the logs
// after the connections.
func (p *Project) ServerConfig(list map[string]mcp.Server, saved bool) (mcp.Config, io.Closer) {
	logs := &serverLogs{}
	if state, err := p.State(); err == nil && saved {
		logs.state = state
	}
	c := mcp.Config{Servers: list, Version: p.Version, Log: logs.write}
	if g := p.Grants(); g != nil {
		c.Token = g.Token(list)
	}
	return c, logs
}

// connections are the MCP servers of a session. They remember between sessions which servers could not be used.
type connections struct {
	*feature.Servers
	project *Project
	memory  serverMemory
	failed  map[string]string // servers that failed last time, with the reason
	logs    io.Closer

	mu       sync.Mutex
	env      env.Environment
	reported map[string]bool
	records  map[string]serverRecord
}

// connections returns the MCP servers for a session, or nil if there are none.
func (p *Project) connections(box sandbox.Config, o SessionOptions) (*connections, error) {
	if o.NoMCP {
		return nil, nil
	}
	found, err := p.AllServers()
	if err != nil {
		return nil, err
	}
	if err := p.PermitServers(found, box, o.Leave); err != nil {
		return nil, err
	}
	list := p.ActiveServers(found)
	if len(list) == 0 {
		return nil, nil
	}
	s := &connections{
		Servers:  o.Servers,
		project:  p,
		failed:   map[string]string{},
		reported: map[string]bool{},
		records:  map[string]serverRecord{},
	}
	if s.Servers == nil {
		s.Servers = &feature.Servers{}
	}
	if !o.NoSave {
		s.memory = p.serverMemory()
	}
	s.remembered(found, list)
	const bytesPerToken = 4
	given := s.Config
	s.Config, s.logs = p.ServerConfig(list, !o.NoSave)
	s.Config.Elicit, s.Config.Sample = given.Elicit, given.Sample
	s.Wait, s.DeferAbove = time.Duration(p.Settings.MCP.Wait)*time.Second, p.Settings.MCP.DeferAbove*bytesPerToken
	if s.Wait == 0 {
		s.Wait = -1 // zero means the default
	}
	s.Report = s.report
	return s, nil
}

// remembered reads what is remembered about the servers.
func (s *connections) remembered(found []Server, used map[string]mcp.Server) {
	for _, f := range found {
		if _, ok := used[f.Name]; !ok || f.Inactive != "" {
			continue
		}
		r := s.memory.get(f)
		s.records[f.Name] = r
		if r.Failure != "" {
			s.failed[f.Name] = r.Failure
			s.Slow = append(s.Slow, f.Name)
		}
	}
}

// attach is a coding.Extension.
func (s *connections) attach(ctx context.Context, h *coding.Host) (coding.Feature, error) {
	s.env = h.Env
	f, err := s.Attach(ctx, h)
	f.Close = s.close
	return f, err
}

// close disconnects from the servers.
func (s *connections) close() error {
	client := s.Client()
	if client == nil {
		return s.logs.Close()
	}
	for _, st := range client.Status() {
		if st.State == mcp.Failed || st.State == mcp.Connected {
			s.remember(st)
		}
	}
	return errors.Join(client.Close(), s.logs.Close())
}

// report notes which servers and tools cannot be used, each of them once.
func (s *connections) report(list []mcp.Status) {
	for _, st := range list {
		var lines []string
		switch st.State {
		case mcp.Failed:
			lines = append(
				lines,
				fmt.Sprintf("MCP server %s failed: %v%s", st.Name, st.Err, ConfinedHint(s.Config.Servers[st.Name], s.env)),
			)
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
			s.reported[line] = true
			s.mu.Unlock()
			if !again {
				s.project.notef(NoteServer, "%s", show.FirstLine(show.OneLine(line)))
			}
		}
	}
}

// pendingLine says why the session does not wait for a server.
func (s *connections) pendingLine(st mcp.Status) string {
	last := s.failed[st.Name]
	if last == "" {
		return fmt.Sprintf("MCP server %s is still starting; its tools are added when it is ready", st.Name)
	}
	return fmt.Sprintf("MCP server %s failed last time (%s); it is tried again in the background", st.Name, last)
}

// remember saves whether a server could be used, so that the next session does not wait for one that fails. Errors are
// ignored, because servers work without that.
func (s *connections) remember(st mcp.Status) {
	failure := ""
	switch {
	case st.State == mcp.Failed && st.Err != nil:
		failure = show.Summary(st.Err.Error())
	case st.State == mcp.Pending:
		failure = fmt.Sprintf("it did not answer within %v", max(s.Wait, 0))
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

// ConfinedHint says that a server runs in the sandbox, which may be why it fails, or returns "".
func ConfinedHint(s mcp.Server, e env.Environment) string {
	l := e.Info().Limits
	if s.Command == "" || s.Unconfined || l == nil || l.Sandbox == "" {
		return ""
	}
	if l.Network || len(l.Hosts) > 0 {
		return `; it runs in the sandbox, see --unconfined in "reins mcp add --help"`
	}
	return `; it runs in the sandbox without network, see --unconfined in "reins mcp add --help"`
}

// maxServerLog is the size at which a server log is rotated. One old log is kept.
const maxServerLog = 1 << 20

// serverLogs keeps what servers write to standard error, a file for each. Without a directory it keeps nothing.
type serverLogs struct {
	state home.Dir

	mu    sync.Mutex
	files map[string]*os.File
	sizes map[string]int64
}

// write adds a line to a server log. Errors are ignored, because servers work without their logs.
func (l *serverLogs) write(name string, line []byte) {
	if l.state == "" {
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
	path := l.state.MCPLog(name)
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
