package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

const planted = "planted-value-7"

// pieces is an output that is read in small pieces.
type pieces string

func (p pieces) Len() int64          { return int64(len(p)) }
func (p pieces) Open() io.ReadCloser { return io.NopCloser(&slow{strings.NewReader(string(p))}) }

type slow struct{ r io.Reader }

func (s *slow) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 5)]) }

func secrets(t *testing.T) *secret.Redactor {
	t.Helper()
	s, err := secret.New(t.Context(), secret.Config{Vars: []string{"APP_SECRET=" + planted}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaky returns a tool whose whole result contains a secret.
func leaky(output tool.Output) tool.Tool {
	return tool.NewRaw(tool.Spec{Name: "leak", Version: "1.0.0", Input: []byte(`{"type":"object"}`)}, func(context.Context, *tool.Call) []policy.Access { return []policy.Access{} },
		func(_ context.Context, c *tool.Call) (tool.Result, error) {
			c.Output([]byte("shown: " + planted[:5]))
			c.Output([]byte(planted[5:] + "\n"))
			return tool.Result{
				Output: output, Fields: map[string]any{"text": planted, "n": 3, "list": []string{planted}, "deep": map[string]any{"x": planted}},
				Error: &tool.Error{Code: tool.IOError, Message: "failed with " + planted, Details: map[string]any{"stack": planted}}, Notes: []string{planted},
				Artifacts: tool.Artifacts{CommandsRun: []string{"echo " + planted}, Message: &tool.Message{Content: planted, Level: "info", Title: planted, Thought: planted, Evidence: []string{planted}}},
				Present:   func(o tool.Output, l tool.Limit) (string, error) { return planted + tool.String(o), nil },
			}, nil
		})
}

// seen keeps what a hook and the audit see.
type seen struct{ result tool.Result }

func (s *seen) BeforeTool(context.Context, tool.Call) (tool.HookResult, error) {
	return tool.HookResult{}, nil
}

func (s *seen) AfterTool(_ context.Context, _ tool.Call, r *tool.Result) error {
	s.result = *r
	return nil
}

func TestPipeline_RedactsResultsBeforeAnybodySeesThem(t *testing.T) {
	for _, output := range []tool.Output{tool.Text("out: " + planted + "!"), pieces("out: " + planted + "!")} {
		reg := &tool.Registry{}
		if err := reg.Register(leaky(output)); err != nil {
			t.Fatal(err)
		}
		hook, shown := &seen{}, ""
		var audited tool.Outcome
		p := tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}, Hooks: []tool.Hook{hook}, Secrets: secrets(t), Audit: func(o tool.Outcome) { audited = o }}
		out := p.Run(t.Context(), tool.Call{ID: "1", Name: "leak", Output: func(b []byte) { shown += string(b) }})
		if want := "out: [redacted:APP_SECRET]!"; tool.String(out.Result.Output) != want || out.Result.Output.Len() != int64(len(want)) {
			t.Errorf("the output is %q with %d bytes, want %q", tool.String(out.Result.Output), out.Result.Output.Len(), want)
		}
		if shown != "shown: [redacted:APP_SECRET]\n" {
			t.Errorf("shown was %q", shown)
		}
		for name, text := range map[string]string{
			"model": out.Model, "fields": string(jsonOf(t, out.Result.Fields)), "error": string(jsonOf(t, out.Result.Error)), "notes": strings.Join(out.Result.Notes, ""),
			"artifacts": string(jsonOf(t, out.Result.Artifacts)), "hook": tool.String(hook.result.Output) + hook.result.Error.Message, "audit": audited.Model,
		} {
			if strings.Contains(text, planted) || !strings.Contains(text, "[redacted:APP_SECRET]") {
				t.Errorf("%s: %s", name, text)
			}
		}
		if out.Result.Fields["n"] != 3 {
			t.Errorf("a number became %v", out.Result.Fields["n"])
		}
	}
}

func TestPipeline_RedactsTheReasonOfARefusal(t *testing.T) {
	reg := &tool.Registry{}
	if err := reg.Register(leaky(nil)); err != nil {
		t.Fatal(err)
	}
	hook := failing{errors.New("bad " + planted)}
	p := tool.Pipeline{Registry: reg, Hooks: []tool.Hook{hook}, Secrets: secrets(t)}
	out := p.Run(t.Context(), tool.Call{ID: "1", Name: "leak"})
	if strings.Contains(out.Model, planted) || !strings.Contains(out.Model, "bad [redacted:APP_SECRET]") {
		t.Errorf("the model sees %q", out.Model)
	}
}

type failing struct{ err error }

func (f failing) BeforeTool(context.Context, tool.Call) (tool.HookResult, error) {
	return tool.HookResult{}, f.err
}
func (f failing) AfterTool(context.Context, tool.Call, *tool.Result) error { return nil }

// largeOutput is an output with n bytes of ordinary text.
type largeOutput int64

func (o largeOutput) Len() int64 { return int64(o) }

func (o largeOutput) Open() io.ReadCloser {
	line := strings.Repeat("ok  	github.com/example/module/package	0.123s coverage: 81.2% of statements\n", 1000)
	return io.NopCloser(io.LimitReader(&repeated{line: line}, int64(o)))
}

type repeated struct {
	line string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.line[r.at:])
	r.at = (r.at + n) % len(r.line)
	return n, nil
}

// BenchmarkLargeOutput compares a 100 MB result with and without redaction.
func BenchmarkLargeOutput(b *testing.B) {
	s, err := secret.New(b.Context(), secret.Config{Vars: []string{"APP_SECRET=" + planted}})
	if err != nil {
		b.Fatal(err)
	}
	for name, r := range map[string]*secret.Redactor{"plain": nil, "redacted": s} {
		b.Run(name, func(b *testing.B) {
			reg := &tool.Registry{}
			t := tool.NewRaw(tool.Spec{Name: "large", Version: "1.0.0", Input: []byte(`{"type":"object"}`)}, nil, func(context.Context, *tool.Call) (tool.Result, error) {
				return tool.Result{Output: largeOutput(100 << 20)}, nil
			})
			if err := reg.Register(t); err != nil {
				b.Fatal(err)
			}
			p := tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}, Secrets: r}
			b.SetBytes(100 << 20)
			for b.Loop() {
				p.Run(b.Context(), tool.Call{ID: "1", Name: "large"})
			}
		})
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
