// Package conformance tests an adapter, an llm.Provider for one wire protocol, against the strict server of package
// llmtest: over real HTTP, streamed and unary, with faults. Every adapter must pass it.
package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// Subject is the adapter under test.
type Subject struct {
	Dialect string // the protocol it speaks, as in llmtest.Server.BaseURL
	Model   string // the model to request
	// Open returns the adapter for an endpoint.
	Open func(e llm.Endpoint) llm.Provider
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for _, unary := range []bool{false, true} {
		mode := "stream"
		if unary {
			mode = "unary"
		}
		t.Run(mode, func(t *testing.T) {
			for _, c := range answerCases() {
				t.Run(c.name, func(t *testing.T) { s.answer(t, c, unary) })
			}
			for _, c := range statusCases() {
				t.Run(fmt.Sprintf("status %d", c.status), func(t *testing.T) { s.status(t, c, unary) })
			}
		})
	}
	for _, c := range faultCases() {
		t.Run("fault "+c.name, func(t *testing.T) { s.fault(t, c) })
	}
	t.Run("every cut of a stream is an error or the whole answer", s.cuts)
	t.Run("conversation", s.conversation)
	t.Run("refused part", s.refusedPart)
	t.Run("growing arguments", s.growingArguments)
	t.Run("odd arguments", s.oddArguments)
	t.Run("mislabelled image", s.mislabelled)
	t.Run("structured output", s.structured)
	t.Run("cancel", s.cancel)
	t.Run("break", s.breakOff)
	t.Run("parallel", s.parallel)
}

const key = "sk-conformance-0123456789abcdef"

// run is a server and the adapter connected to it.
type run struct {
	*llmtest.Server
	llm.Provider
}

func (s Subject) start(t *testing.T, limits llm.Limits, turns ...llmtest.Turn) run {
	t.Helper()
	return s.serve(t, limits, llmtest.Play(turns...))
}

func (s Subject) serve(t *testing.T, limits llm.Limits, script *llmtest.Script) run {
	t.Helper()
	server := llmtest.StartServer(llmtest.ServerConfig{Script: script, Key: key})
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return run{server, s.Open(llm.Endpoint{BaseURL: server.BaseURL(s.Dialect), APIKey: key, Limits: limits, HTTPClient: client})}
}

func (s Subject) request(unary bool) *llm.Request {
	return &llm.Request{
		Model:     s.Model,
		MaxTokens: 1000,
		Unary:     unary,
		Messages:  []llm.Message{llm.SystemText("Be brief."), llm.UserText("Look at the two files.")},
		Tools: []llm.ToolDef{
			{
				Name:        "read_file",
				Description: "Reads a file.",
				Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
			},
			{Name: "list_dir", Description: "Lists a directory.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
	}
}

type answerCase struct {
	name   string
	turn   llmtest.Turn
	finish llm.FinishReason
}

func answerCases() []answerCase {
	text := func(s string) llm.Part { return llm.Text{Text: s} }
	read := func(arguments string) llm.Part { return llm.ToolCall{Name: "read_file", Arguments: arguments} }
	turn := func(parts ...llm.Part) llmtest.Turn { return llmtest.Turn{Parts: parts} }
	sized := func(chunk int, p llm.Part) llmtest.Turn { return llmtest.Turn{Parts: []llm.Part{p}, Chunk: chunk} }
	truncated := func(parts ...llm.Part) llmtest.Turn { return llmtest.Turn{Parts: parts, Finish: llm.FinishLength} }
	return []answerCase{
		{"text", llmtest.Say("Hello, 世界 🌍! \"quotes\" \\ back\nslash\ttab \u2028 end."), llm.FinishStop},
		{"long text", sized(4096, text(strings.Repeat("0123456789abcdef", 5000))), llm.FinishStop},
		{"one call", llmtest.Call("read_file", `{"path":"a \"b\" ü.go"}`), llm.FinishToolCalls},
		{"call without arguments", llmtest.Call("list_dir", `{}`), llm.FinishToolCalls},
		{"text and calls", turn(text("I look at both."), read(`{"path":"a.go"}`), read(`{"path":"b.go"}`)), llm.FinishToolCalls},
		{"large call", sized(50_000, read(`{"path":"`+strings.Repeat("x", 300_000)+`"}`)), llm.FinishToolCalls},
		{"truncated text", truncated(text("This goes on and")), llm.FinishLength},
		{"truncated call", truncated(text("I read."), read(`{"path":"a`)), llm.FinishLength},
		{"usage", llmtest.Turn{Parts: []llm.Part{text("ok")}, Usage: llm.Usage{Input: 1000, Output: 50, CacheRead: 600}}, llm.FinishStop},
	}
}

func (s Subject) answer(t *testing.T, c answerCase, unary bool) {
	r := s.start(t, llm.Limits{}, c.turn)
	resp, err := verified(r.Stream(t.Context(), s.request(unary)))
	if err != nil {
		t.Fatalf("the call failed: %v (violations: %v)", err, r.Violations())
	}
	want := llm.Message{Parts: c.turn.Parts}
	if got := resp.Text(); got != want.Text() {
		t.Errorf("got text %q, want %q", clip(got), clip(want.Text()))
	}
	calls := want.ToolCalls()
	if c.finish == llm.FinishLength {
		calls = nil // a truncated call must not be run
	}
	compareCalls(t, resp.ToolCalls(), calls)
	if resp.Finish.Reason != c.finish || resp.Finish.Raw == "" {
		t.Errorf("got finish %+v, want %s and the provider's own reason", resp.Finish, c.finish)
	}
	if resp.Model == "" || resp.RequestID == "" {
		t.Errorf("got model %q and request id %q, want both", resp.Model, resp.RequestID)
	}
	if want := c.turn.Usage; want.Input > 0 {
		got := resp.Usage
		if len(got.Raw) == 0 || got.Input != want.Input || got.Output != want.Output || got.CacheRead != want.CacheRead {
			t.Errorf("got usage %+v, want %+v and the provider's own object", got, want)
		}
	}
}

func compareCalls(t *testing.T, got, want []llm.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d tool calls, want %d", len(got), len(want))
	}
	ids := map[string]bool{}
	for i := range want {
		if got[i].Name != want[i].Name || !sameJSON(got[i].Arguments, want[i].Arguments) {
			t.Errorf("call %d is %s(%s), want %s(%s)", i, got[i].Name, clip(got[i].Arguments), want[i].Name, clip(want[i].Arguments))
		}
		if got[i].ID == "" || ids[got[i].ID] {
			t.Errorf("call %d has the id %q, which is empty or not unique", i, got[i].ID)
		}
		ids[got[i].ID] = true
	}
}

// sameJSON compares the arguments of tool calls. An empty string equals an empty object.
func sameJSON(a, b string) bool { return indent(a) == indent(b) }

func indent(s string) string {
	var v any
	if json.Unmarshal([]byte(cmp.Or(s, "{}")), &v) != nil {
		return s
	}
	out, _ := json.MarshalIndent(v, "", " ")
	return string(out)
}

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) > 120 {
		return s[:60] + "…" + s[len(s)-60:]
	}
	return s
}

type statusCase struct {
	status     int
	retryAfter string
	kind       llm.ErrorKind
	retryable  bool
}

func statusCases() []statusCase {
	return []statusCase{
		{401, "", llm.ErrAuthentication, false},
		{403, "", llm.ErrAccessDenied, false},
		{404, "", llm.ErrNotFound, false},
		{413, "", llm.ErrContextLength, false},
		{429, "", llm.ErrRateLimit, true},
		{429, "7", llm.ErrRateLimit, true},
		{500, "", llm.ErrServer, true},
		{529, "", llm.ErrServer, true},
	}
}

func (s Subject) status(t *testing.T, c statusCase, unary bool) {
	r := s.start(t, llm.Limits{}, llmtest.Turn{Fault: llmtest.Fault{Status: c.status, RetryAfter: c.retryAfter}})
	_, err := verified(r.Stream(t.Context(), s.request(unary)))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got the error %T: %v, want an *llm.Error", err, err)
	}
	if e.Kind != c.kind || e.Retryable() != c.retryable || e.Status != c.status {
		t.Errorf("got kind %s, retryable %v, status %d; want %s, %v, %d", e.Kind, e.Retryable(), e.Status, c.kind, c.retryable, c.status)
	}
	if c.retryAfter != "" && e.RetryAfter != 7*time.Second {
		t.Errorf("got retry after %v, want 7s", e.RetryAfter)
	}
	if e.Message == "" || e.RequestID == "" || e.Provider == "" {
		t.Errorf("got message %q, request id %q, provider %q; want all three", e.Message, e.RequestID, e.Provider)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %s", err, *e, e.Body), key) {
		t.Error("the error contains the API key")
	}
}
