package llmtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Subject is an adapter under test.
type Subject struct {
	Dialect string // which of the server's protocols it speaks
	Model   string // a model name to ask for
	// Open makes the adapter for a base URL, a key and limits.
	Open func(e wire.Endpoint) llm.Provider
}

const conformanceKey = "sk-conformance-0123456789abcdef"

// Conformance runs the suite that every adapter must pass, over real HTTP.
func Conformance(t *testing.T, s Subject) {
	for _, unary := range []bool{false, true} {
		mode := "stream"
		if unary {
			mode = "unary"
		}
		t.Run(mode, func(t *testing.T) {
			for _, c := range answerCases {
				t.Run(c.name, func(t *testing.T) { s.answers(t, c, unary) })
			}
			for _, c := range statusCases {
				t.Run(fmt.Sprintf("status %d", c.status), func(t *testing.T) { s.status(t, c, unary) })
			}
		})
	}
	for _, c := range faultCases {
		t.Run("fault "+c.name, func(t *testing.T) { s.fault(t, c) })
	}
	t.Run("every cut of a stream is an error or the whole answer", s.cuts)
	t.Run("conversation", s.conversation)
	t.Run("refused part", s.refusedPart)
	t.Run("arguments are shown while they are written", s.growingArguments)
	t.Run("odd arguments", s.oddArguments)
	t.Run("mislabelled image", s.mislabelled)
	t.Run("structured output", s.structured)
	t.Run("cancel", s.cancel)
	t.Run("break", s.breakOff)
	t.Run("parallel", s.parallel)
}

// run is a server with the adapter connected to it.
type run struct {
	*Server
	provider llm.Provider
	script   *Script
}

func (s Subject) start(t *testing.T, limits wire.Limits, turns ...Turn) *run {
	t.Helper()
	script := Play(turns...)
	server := StartServer(ServerConfig{Script: script, Key: conformanceKey})
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	p := s.Open(wire.Endpoint{BaseURL: server.BaseURL(s.Dialect), APIKey: conformanceKey, Limits: limits, HTTPClient: client})
	return &run{server, p, script}
}

func (s Subject) request(unary bool) *llm.Request {
	return &llm.Request{
		Model:     s.Model,
		MaxTokens: 1000,
		Unary:     unary,
		Messages:  []llm.Message{llm.SystemText("Be brief."), llm.UserText("Look at the two files.")},
		Tools:     conformanceTools,
	}
}

var conformanceTools = []llm.ToolDef{
	{Name: "read_file", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "list_dir", Description: "Lists a directory.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
}

type answerCase struct {
	name string
	turn Turn
}

var answerCases = []answerCase{
	{"text", Say("Hello, 世界 🌍! \"quotes\" \\ back\nslash\ttab \u2028 end.")},
	{"long text", Turn{Parts: []llm.Part{llm.Text{Text: strings.Repeat("0123456789abcdef", 5000)}}, Chunk: 4096}},
	{"one call", Call("read_file", `{"path":"a \"b\" ü.go"}`)},
	{"call without arguments", Call("list_dir", `{}`)},
	{"text and calls", Turn{Parts: []llm.Part{
		llm.Text{Text: "I look at both."},
		llm.ToolCall{Name: "read_file", Arguments: `{"path":"a.go"}`},
		llm.ToolCall{Name: "read_file", Arguments: `{"path":"b.go"}`},
	}}},
	{"large call", Turn{Parts: []llm.Part{llm.ToolCall{Name: "read_file", Arguments: `{"path":"` + strings.Repeat("x", 300_000) + `"}`}}, Chunk: 50_000}},
	{"cut for length", Turn{Parts: []llm.Part{llm.Text{Text: "This goes on and"}}, Finish: llm.FinishLength}},
	{"call cut for length", Turn{Parts: []llm.Part{llm.Text{Text: "I read."}, llm.ToolCall{Name: "read_file", Arguments: `{"path":"a`}}, Finish: llm.FinishLength}},
	{"usage", Turn{Parts: []llm.Part{llm.Text{Text: "ok"}}, Usage: llm.Usage{Input: 1000, Output: 50, CacheRead: 600}}},
}

func (s Subject) answers(t *testing.T, c answerCase, unary bool) {
	r := s.start(t, wire.Limits{}, c.turn)
	resp, err := verified(r.provider.Stream(t.Context(), s.request(unary)))
	if err != nil {
		t.Fatalf("the call failed: %v (violations: %v)", err, r.Violations())
	}
	want := r.script.complete(c.turn, &llm.Request{})
	if got, want := resp.Text(), (llm.Message{Parts: want.Parts}).Text(); got != want {
		t.Errorf("text = %q, want %q", clip(got), clip(want))
	}
	calls := llm.Message{Parts: want.Parts}.ToolCalls()
	if want.Finish == llm.FinishLength {
		calls = nil // it was cut off, and must not be there to be run
	}
	compareCalls(t, resp.ToolCalls(), calls)
	if resp.Finish.Reason != want.Finish || resp.Finish.Raw == "" {
		t.Errorf("finish = %+v, want %s and the provider's own word", resp.Finish, want.Finish)
	}
	if resp.Model == "" || resp.RequestID == "" {
		t.Errorf("model %q or request id %q is missing", resp.Model, resp.RequestID)
	}
	if u := c.turn.Usage; u.Input > 0 {
		got := resp.Usage
		if len(got.Raw) == 0 {
			t.Error("the provider's own usage object is missing")
		}
		if got.Raw = nil; got.Input != u.Input || got.Output != u.Output || got.CacheRead != u.CacheRead {
			t.Errorf("usage = %+v, want %+v", got, u)
		}
	}
}

func compareCalls(t *testing.T, got, want []llm.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tool calls, want %d", len(got), len(want))
	}
	ids := map[string]bool{}
	for i := range want {
		if got[i].Name != want[i].Name || !sameArguments(got[i].Arguments, want[i].Arguments) {
			t.Errorf("call %d is %s(%s), want %s(%s)", i, got[i].Name, clip(got[i].Arguments), want[i].Name, clip(want[i].Arguments))
		}
		if got[i].ID == "" || ids[got[i].ID] {
			t.Errorf("call %d has the id %q, which is empty or not unique", i, got[i].ID)
		}
		ids[got[i].ID] = true
	}
}

// sameArguments compares arguments, of which none at all is the same as an empty object.
func sameArguments(a, b string) bool { return sameJSON(cmp.Or(a, "{}"), cmp.Or(b, "{}")) }

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

var statusCases = []statusCase{
	{401, "", llm.ErrAuthentication, false},
	{403, "", llm.ErrAccessDenied, false},
	{404, "", llm.ErrNotFound, false},
	{413, "", llm.ErrContextLength, false},
	{429, "", llm.ErrRateLimit, true},
	{429, "7", llm.ErrRateLimit, true},
	{500, "", llm.ErrServer, true},
	{529, "", llm.ErrServer, true},
}

func (s Subject) status(t *testing.T, c statusCase, unary bool) {
	r := s.start(t, wire.Limits{}, Turn{Fault: Fault{Status: c.status, RetryAfter: c.retryAfter}})
	_, err := verified(r.provider.Stream(t.Context(), s.request(unary)))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %T: %v", err, err)
	}
	if e.Kind != c.kind || e.Retryable() != c.retryable || e.Status != c.status {
		t.Errorf("got kind %s, retryable %v, status %d; want %s, %v, %d", e.Kind, e.Retryable(), e.Status, c.kind, c.retryable, c.status)
	}
	if c.retryAfter != "" && e.RetryAfter != 7*time.Second {
		t.Errorf("retry after %v, want 7 s", e.RetryAfter)
	}
	if e.Message == "" || e.RequestID == "" || e.Provider == "" {
		t.Errorf("message %q, request id %q or provider %q is missing", e.Message, e.RequestID, e.Provider)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %s", err, *e, e.Body), conformanceKey) {
		t.Error("the error tells the key")
	}
}

type faultCase struct {
	name  string
	fault Fault
	kinds []llm.ErrorKind // that may come of it; none: the call succeeds
}

var faultCases = []faultCase{
	{"cut", Fault{CutAt: 200}, []llm.ErrorKind{llm.ErrIncomplete}},
	{"reset at once", Fault{Reset: true}, []llm.ErrorKind{llm.ErrNetwork, llm.ErrIncomplete}},
	{"reset in mid-stream", Fault{Reset: true, CutAt: 200}, []llm.ErrorKind{llm.ErrNetwork, llm.ErrIncomplete}},
	{"stall", Fault{StallAt: 200}, []llm.ErrorKind{llm.ErrTimeout}},
	{"no first byte", Fault{StallAtOnce: true}, []llm.ErrorKind{llm.ErrTimeout}},
	{"slow first byte", Fault{SlowFirstByte: 20 * time.Millisecond}, nil},
	{"malformed", Fault{Malformed: true}, []llm.ErrorKind{llm.ErrMalformed}},
	{"duplicate", Fault{Duplicate: true}, nil},
	{"pings", Fault{Pings: true}, nil},
	{"overloaded in mid-stream", Fault{MidStream: 529}, []llm.ErrorKind{llm.ErrServer}},
	{"rate limit in mid-stream", Fault{MidStream: 429}, []llm.ErrorKind{llm.ErrRateLimit}},
}

// faultText is long enough for every fault to fall into the middle of its stream.
var faultText = strings.Repeat("All happy streams are alike. ", 40)

func (s Subject) fault(t *testing.T, c faultCase) {
	turn := Say(faultText)
	turn.Fault = c.fault
	limits := wire.Limits{}
	if slices.Contains(c.kinds, llm.ErrTimeout) {
		limits = wire.Limits{FirstByte: 300 * time.Millisecond, Idle: 300 * time.Millisecond}
	}
	r := s.start(t, limits, turn)
	resp, err := verified(r.provider.Stream(t.Context(), s.request(false)))
	if len(c.kinds) == 0 {
		if err != nil || resp.Text() != faultText {
			t.Fatalf("text %q, error %v; want the whole answer", clip(resp.Text()), err)
		}
		return
	}
	if kind := llm.KindOf(err); !slices.Contains(c.kinds, kind) {
		t.Fatalf("error %v of kind %s, want one of %v", err, kind, c.kinds)
	}
}

// cuts breaks a stream with a tool call off at every byte: there must never be a success that is
// not whole.
func (s Subject) cuts(t *testing.T) {
	turn := Turn{Parts: []llm.Part{llm.Text{Text: "Reading."}, llm.ToolCall{Name: "read_file", Arguments: `{"path":"a.go"}`}}}
	whole := s.start(t, wire.Limits{}, turn)
	if _, err := verified(whole.provider.Stream(t.Context(), s.request(false))); err != nil {
		t.Fatal(err)
	}
	script := &Script{Reply: func(n int, _ *llm.Request) Turn {
		cut := turn
		cut.Fault.CutAt = n + 1
		return cut
	}}
	server := NewServer(script)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	p := s.Open(wire.Endpoint{BaseURL: server.BaseURL(s.Dialect), APIKey: conformanceKey, HTTPClient: client})
	for n := 1; n < 6000; n++ {
		resp, err := verified(p.Stream(t.Context(), s.request(false)))
		if err == nil {
			if calls := resp.ToolCalls(); len(calls) != 1 || !sameJSON(calls[0].Arguments, `{"path":"a.go"}`) || resp.Text() != "Reading." {
				t.Fatalf("cut at byte %d: a success that is not whole: %+v", n, resp.Message)
			}
			return // from here on the cut is behind what matters
		}
		if kind := llm.KindOf(err); kind != llm.ErrIncomplete {
			t.Fatalf("cut at byte %d: %v (%s), want an incomplete stream", n, err, kind)
		}
	}
	t.Fatal("no cut was late enough for a whole answer")
}

// conversation plays tool rounds against the strict server: thinking with its state, parallel
// calls, a failed result and an image, steering behind results.
func (s Subject) conversation(t *testing.T) {
	r := s.start(t, wire.Limits{},
		Turn{Parts: []llm.Part{
			llm.Thinking{Text: "Two files.", State: llm.State{Dialect: s.Dialect, Data: []byte("c2lnbmF0dXJl")}},
			llm.Text{Text: "I read both."},
			llm.ToolCall{Name: "read_file", Arguments: `{"path":"a"}`},
			llm.ToolCall{Name: "read_file", Arguments: `{"path":"b"}`},
		}},
		Call("list_dir", "{}"),
		Say("Done."),
	)
	req := s.request(false)
	req.Cache = new(llm.Cache)
	for range 3 {
		resp, err := verified(r.provider.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("%v (violations: %v)", err, r.Violations())
		}
		req.Messages = append(req.Messages, resp.Message)
		var results []llm.ToolResult
		for i, c := range resp.ToolCalls() {
			res := llm.TextResult(c, "contents of the file", i == 1)
			if i == 0 {
				res.Parts = append(res.Parts, llm.Image{Media: llm.Media{Data: pixel, MIME: "image/png"}})
			}
			results = append(results, res)
		}
		if len(results) > 0 {
			req.Messages = append(req.Messages, llm.ToolResults(results...), llm.UserText("Hurry up."))
		}
	}
	if got := req.Messages[len(req.Messages)-1].Text(); got != "Done." {
		t.Errorf("the last answer is %q", got)
	}
	if v := r.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}

// pixel is a PNG of one pixel.
var pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff\xff\x7f\x00\t\xfb\x03\xfd*\x86\xe3\x8a\x00\x00\x00\x00IEND\xaeB`\x82")

func (s Subject) structured(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	r := s.start(t, wire.Limits{}, Say(`{"n":7}`))
	req := s.request(false)
	req.Tools = nil
	req.Output = &llm.OutputFormat{Name: "number", Schema: json.RawMessage(schema)}
	resp, err := verified(r.provider.Stream(t.Context(), req))
	if err != nil {
		t.Fatalf("%v (violations: %v)", err, r.Violations())
	}
	if !sameJSON(resp.Text(), `{"n":7}`) {
		t.Errorf("text = %q", resp.Text())
	}
}

func (s Subject) cancel(t *testing.T) {
	turn := Say(faultText)
	turn.Fault.StallAt = 4000 // behind the first delta in every protocol
	r := s.start(t, wire.Limits{}, turn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for ev, err := range r.provider.Stream(ctx, s.request(false)) {
		if _, ok := ev.(llm.TextDelta); ok {
			cancel()
		}
		if err != nil {
			if llm.KindOf(err) != llm.ErrCancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("error %v of kind %s, want cancelled", err, llm.KindOf(err))
			}
			return
		}
	}
	t.Error("the cancelled stream ended without an error")
}

func (s Subject) breakOff(t *testing.T) {
	turn := Say(faultText)
	turn.Fault.StallAt = 4000 // behind the first delta in every protocol
	r := s.start(t, wire.Limits{}, turn)
	for ev := range r.provider.Stream(t.Context(), s.request(false)) {
		if _, ok := ev.(llm.TextDelta); ok {
			break
		}
	}
}

func (s Subject) parallel(t *testing.T) {
	script := &Script{Reply: func(_ int, r *llm.Request) Turn { return Say("echo " + r.Messages[len(r.Messages)-1].Text()) }}
	server := NewServer(script)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	p := s.Open(wire.Endpoint{BaseURL: server.BaseURL(s.Dialect), APIKey: conformanceKey, HTTPClient: client})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			req := s.request(i%2 == 0)
			req.Messages = []llm.Message{llm.UserText(fmt.Sprint(i))}
			resp, err := verified(p.Stream(t.Context(), req))
			if err != nil || resp.Text() != fmt.Sprintf("echo %d", i) {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}
