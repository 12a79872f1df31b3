package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type dialect struct {
	wire.Dialect
	model string
}

// dialects are all protocols, with models that have different rules.
var dialects = []dialect{
	{openai.NewDialect(openai.Config{}), "gpt-6.1-sol"},
	{openai.NewDialect(openai.Config{}), "gpt-5.2"},
	{anthropic.NewDialect(anthropic.Config{}), "claude-haiku-4-5"},
	{anthropic.NewDialect(anthropic.Config{}), "claude-opus-5"},
	{anthropic.NewDialect(anthropic.Config{}), "claude-sonnet-5-5"},
	{anthropic.NewDialect(anthropic.Config{}), "claude-fable-5-2"},
	{gemini.NewDialect(gemini.Config{}), "gemini-3.8-flash"},
	{gemini.NewDialect(gemini.Config{}), "gemini-4-argon"},
	{chat.NewDialect(chat.Config{}), "gpt-4o"},
	{bedrock.NewDialect(bedrock.Config{}), "amazon.nova-pro-v1:0"},
}

// protocols has one model for each protocol whose state scripts can make up.
var protocols = slices.DeleteFunc(slices.Clone(dialects), func(d dialect) bool {
	return !slices.Contains([]string{"gpt-6.1-sol", "claude-opus-5", "gemini-3.8-flash", "gpt-4o"}, d.model)
})

// valid returns the strict validators' errors for a request, in any protocol. Only Anthropic pauses, and some of its
// models require a conversation that ends with their own words.
func valid(r *llm.Request) error {
	var errs []error
	for _, d := range dialects {
		if r.Messages[len(r.Messages)-1].Role == llm.RoleAssistant && d.model != "claude-haiku-4-5" {
			continue
		}
		c := *r
		c.Model, c.Cache = d.model, nil
		call, err := d.Encode(&c)
		if err == nil {
			err = llmtest.Validate(d.Name(), call.Body.Bytes())
		}
		if r.ThinkingBudget != nil && llm.KindOf(err) == llm.ErrConfiguration {
			continue // the model has none, and reports that
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.model, err))
		}
	}
	return errors.Join(errs...)
}

// strict is a model client that checks every request in all protocols.
type strict struct {
	t *testing.T
	Streamer
}

func (s strict) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if err := valid(r); err != nil {
		s.t.Errorf("an invalid request was sent: %v\n%s", err, sketch(r.Messages))
	}
	return s.Streamer.Stream(ctx, r)
}

// streamFunc is a model client made from a function.
type streamFunc func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error]

func (f streamFunc) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return f(ctx, r)
}

// sketch shows the shape of a conversation.
func sketch(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, " %.60q", p.Text)
			case llm.ToolCall:
				fmt.Fprintf(&b, " call %s %s(%s)", p.ID, p.Name, p.Arguments)
			case llm.ToolResult:
				fmt.Fprintf(&b, " result %s %.60q", p.ID, p.Text())
			default:
				fmt.Fprintf(&b, " %T", p)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

type echoIn struct {
	Text string `json:"text"`
}

// fake is a tool with one string argument that calls run.
func fake(name string, readOnly bool, run func(ctx context.Context, c *tool.Call, text string) (tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "A tool.", ReadOnly: readOnly}, tool.Nothing,
		func(ctx context.Context, c *tool.Call, in echoIn) (tool.Result, error) { return run(ctx, c, in.Text) })
}

// acting is like fake, but does not declare its accesses, so it may use the whole environment.
func acting(name string, run func(ctx context.Context, c *tool.Call, text string) (tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "A tool."}, nil,
		func(ctx context.Context, c *tool.Call, in echoIn) (tool.Result, error) { return run(ctx, c, in.Text) })
}

// planner is a tool that keeps the model's plan.
func planner() tool.Tool {
	return tool.New(tool.Spec{Name: "update_plan", Description: "Keep the plan.", ReadOnly: true, Plan: true}, tool.Nothing[echoIn],
		func(ctx context.Context, c *tool.Call, in echoIn) (tool.Result, error) { return echo(ctx, c, in.Text) })
}

func echo(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
	return tool.Success("%s", text), nil
}

// open creates a session over a script, in a real environment, with the tools echo and write. Every request is checked;
// at the end of the test, so is the history.
func open(t *testing.T, client Streamer, change func(*Config)) *Session {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c := Config{Client: strict{t, client}, Model: "m", Env: e, System: "Be good.", Policy: policy.AllowAll{}, Tools: &tool.Registry{}}
	if err := c.Tools.Register(fake("echo", true, echo), fake("write", false, echo)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		checkHistory(t, s)
	})
	return s
}

// checkHistory checks that the log and the session have the same conversation.
func checkHistory(t *testing.T, s *Session) {
	t.Helper()
	got, want := s.Messages(), step.Messages(s.log.Records(0), s.path)
	if reflect.DeepEqual(got, want) || openCalls(s) != 0 { // cmp takes ten times as long
		return
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the log does not tell the conversation: %s", diff)
	}
}

// openCalls returns the number of calls without a result in the last answer, as 0 or 1.
func openCalls(s *Session) int {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.state.Safe() {
		return 0
	}
	return 1
}

func with(tools ...tool.Tool) func(*Config) {
	return func(c *Config) {
		if err := c.Tools.Register(tools...); err != nil {
			panic(err)
		}
	}
}

// submit gives text to a session that must accept it.
func submit(t *testing.T, s *Session, text string) Outcome {
	t.Helper()
	out, err := s.Submit(t.Context(), llm.Text{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func calls(names ...string) llmtest.Turn {
	var turn llmtest.Turn
	for i, n := range names {
		turn.Parts = append(turn.Parts, llm.ToolCall{Name: n, Arguments: fmt.Sprintf(`{"text":"%d"}`, i)})
	}
	return turn
}

func echoCall(text string) llmtest.Turn {
	return llmtest.Call("echo", fmt.Sprintf(`{"text":%q}`, text))
}

func records[T event.Data](s *Session) (out []T) {
	for _, r := range s.log.Records(0) {
		if d, ok := r.Data.(T); ok && r.Agent == s.path {
			out = append(out, d)
		}
	}
	return out
}

// kinds returns the kinds of a session's durable records, in order.
func kinds(s *Session) string {
	var out []string
	for _, r := range s.log.Records(0) {
		out = append(out, string(r.Kind()))
	}
	return strings.Join(out, " ")
}

// lastResults returns the tool results at the end of a script's last request.
func lastResults(script *llmtest.Script) []llm.ToolResult {
	requests := script.Requests()
	messages := requests[len(requests)-1].Messages
	for _, m := range slices.Backward(messages) {
		if m.Role != llm.RoleTool {
			continue
		}
		var out []llm.ToolResult
		for _, p := range m.Parts {
			out = append(out, p.(llm.ToolResult))
		}
		return out
	}
	return nil
}
