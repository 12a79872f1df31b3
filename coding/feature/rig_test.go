package feature

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// openRig opens sessions with a scripted model.
type openRig struct {
	*testing.T
	dir, state string
	model      *llmtest.Script
}

func newOpenRig(t *testing.T) *openRig {
	return &openRig{t, t.TempDir(), t.TempDir(), &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("ok") }}}
}

// open opens a session with the scripted model.
func (g *openRig) open(c coding.Config) *agent.Session {
	g.Helper()
	if c.Session.Client == nil {
		c.Session.Client = g.model
	}
	c.State = g.state
	if c.Dir == "" && c.Resume == "" {
		c.Dir = g.dir
	}
	s, err := coding.Open(g.Context(), c)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = s.Close() })
	return s
}

// ask submits an input, closes the session and returns the last request.
func (g *openRig) ask(s *agent.Session) *llm.Request {
	g.Helper()
	if _, err := s.Submit(g.Context(), llm.Text{Text: "hello"}); err != nil {
		g.Fatal(err)
	}
	if err := s.Close(); err != nil {
		g.Fatal(err)
	}
	all := g.model.Requests()
	return all[len(all)-1]
}

func toolNames(r *llm.Request) (names []string) {
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

// write writes files below the working directory.
func (g *openRig) write(files map[string]string) {
	g.Helper()
	for name, content := range files {
		path := filepath.Join(g.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			g.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			g.Fatal(err)
		}
	}
}

// with returns a list of extensions.
func with(list ...coding.Extension) []coding.Extension { return list }
