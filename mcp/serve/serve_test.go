package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestCall_GoesThroughThePipeline(t *testing.T) {
	each(t, func(t *testing.T, connect func(*bench, *sdk.ClientOptions) *sdk.ClientSession) {
		b := newBench(t, nil)
		b.file(t, "a.txt", "the key is hunter2hunter2hunter2\n"+strings.Repeat("long line\n", 20_000))
		s := connect(b, nil)

		r, got := call(t, s, "read_file", object{"file_path": "a.txt"})
		if r.IsError || !strings.Contains(got, "[redacted:API_TOKEN]") || strings.Contains(got, "hunter2") || len(got) > 100_000 {
			t.Errorf("read_file: error %v, %d bytes, begins %.100q; want a redacted and truncated text", r.IsError, len(got), got)
		}
		r, got = call(t, s, "read_file", object{"file_path": "none.txt"})
		if !r.IsError || !strings.Contains(got, "File not found: none.txt") {
			t.Errorf("a missing file: error %v, %q", r.IsError, got)
		}
		r, got = call(t, s, "read_file", object{"file_path": "a.txt", "mode": "bypassPermissions"})
		if !r.IsError || !strings.Contains(got, "unknown argument") {
			t.Errorf("an unknown argument: error %v, %q", r.IsError, got)
		}
		r, got = call(t, s, "write_file", object{"file_path": "b.txt", "content": "x"})
		if _, err := os.Stat(filepath.Join(b.dir, "b.txt")); !r.IsError || !strings.Contains(got, "needs approval") || err == nil {
			t.Errorf("a write that nobody can approve: error %v, %q, file exists: %v", r.IsError, got, err == nil)
		}
		if n := len(b.outcomes()); n != 4 {
			t.Errorf("the audit log got %d calls, want 4", n)
		}
	})
}

func TestCall_UnknownToolIsAnErrorOfTheProtocol(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.stdio(t, versions[0], nil)
	for _, name := range []string{"fly", "Bash", ""} { // Bash is an alias in sessions
		if r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil {
			t.Errorf("calling %q: %s, want an error", name, asJSON(t, r))
		}
	}
}

// TestTools_AreDescribedAsTheirSpecs checks that clients see annotations, and an output schema that results conform to.
func TestTools_AreDescribedAsTheirSpecs(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Pipeline.Policy = policy.AllowAll{} })
	b.file(t, "a.txt", "one\n")
	s, _ := b.stdio(t, versions[1], nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	specs := b.config.Pipeline.Registry.Specs()
	if len(list.Tools) != len(specs) {
		t.Fatalf("%d tools, want %d", len(list.Tools), len(specs))
	}
	schemas := map[string]*jsonschema.Resolved{}
	for _, got := range list.Tools {
		i := slices.IndexFunc(specs, func(s tool.Spec) bool { return s.Name == got.Name })
		a, want := got.Annotations, specs[i]
		if a.ReadOnlyHint != want.ReadOnly || *a.DestructiveHint != want.Destructive || a.IdempotentHint != want.Idempotent || *a.OpenWorldHint != want.OpenWorld || got.Description != want.Description {
			t.Errorf("%s is described by %s, want %+v", got.Name, asJSON(t, got), want)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal([]byte(asJSON(t, got.OutputSchema)), &schema); err != nil {
			t.Fatal(err)
		}
		if schemas[got.Name], err = schema.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string]object{
		"read_file": {"file_path": "a.txt"}, "shell": {"command": "echo hi"}, "glob": {"pattern": "*"}, "grep": {"pattern": "one"},
		"write_file": {"file_path": "b.txt", "content": "x"}, "edit_file": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
	} {
		r, got := call(t, s, name, args)
		fields, _ := r.StructuredContent.(object)
		if err := schemas[name].Validate(r.StructuredContent); err != nil || fields["output"] != got || fields["model_output"] != nil || fields["diff"] != nil {
			t.Errorf("%s: structured content %s does not conform: %v", name, asJSON(t, r.StructuredContent), err)
		}
		if name == "shell" && fields["exit_code"] != 0.0 {
			t.Errorf("shell: exit_code is %v, want 0", fields["exit_code"])
		}
	}
}

func TestCall_ImagesAreImageContent(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	draw := tool.New(tool.Spec{Name: "draw"}, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Result{Output: tool.Text("drawn"), Images: []llm.Image{{Media: llm.Media{MIME: "image/png", Data: picture.Bytes()}}}}, nil
	})
	s, _ := newBench(t, nil, draw).stdio(t, versions[0], nil)
	r, got := call(t, s, "draw", nil)
	if len(r.Content) != 2 || got != "drawn" {
		t.Fatalf("content %s, want a text and an image", asJSON(t, r.Content))
	}
	if img, ok := r.Content[1].(*sdk.ImageContent); !ok || img.MIMEType != "image/png" || !bytes.Equal(img.Data, picture.Bytes()) {
		t.Errorf("the second content is %s, want the image", asJSON(t, r.Content[1]))
	}
}

// asked is a client whose user gives the same answer to every question.
func asked(answer *sdk.ElicitResult, err error, questions *[]string) *sdk.ClientOptions {
	var mu sync.Mutex
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		mu.Lock()
		defer mu.Unlock()
		*questions = append(*questions, r.Params.Message)
		return answer, err
	}}
}

func TestApproval_OnlyAnExplicitAnswerAllows(t *testing.T) {
	each(t, func(t *testing.T, connect func(*bench, *sdk.ClientOptions) *sdk.ClientSession) {
		for name, c := range map[string]struct {
			answer *sdk.ElicitResult
			err    error
			allows bool
		}{
			"allow":        {answer: &sdk.ElicitResult{Action: "accept", Content: object{"decision": "allow once"}}, allows: true},
			"deny":         {answer: &sdk.ElicitResult{Action: "accept", Content: object{"decision": "deny"}}},
			"decline":      {answer: &sdk.ElicitResult{Action: "decline"}},
			"decline both": {answer: &sdk.ElicitResult{Action: "decline", Content: object{"decision": "allow once"}}},
			"cancel":       {answer: &sdk.ElicitResult{Action: "cancel"}},
			"no content":   {answer: &sdk.ElicitResult{Action: "accept"}},
			"other words":  {answer: &sdk.ElicitResult{Action: "accept", Content: object{"decision": "yes"}}},
			"no action":    {answer: &sdk.ElicitResult{Content: object{"decision": "allow once"}}},
			"failure":      {err: errors.New("no display")},
		} {
			t.Run(name, func(t *testing.T) {
				b := newBench(t, nil)
				var questions []string
				s := connect(b, asked(c.answer, c.err, &questions))
				r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "write_file", Arguments: object{"file_path": "b.txt", "content": "some words"}})
				_, gone := os.Stat(filepath.Join(b.dir, "b.txt"))
				if written := gone == nil; written != c.allows || c.allows && (err != nil || r.IsError) || !c.allows && err == nil && !r.IsError {
					t.Errorf("written: %v, result %s, %v; want written: %v", written, asJSON(t, r), err, c.allows)
				}
				if len(questions) != 1 || !strings.Contains(questions[0], "write_file") || !strings.Contains(questions[0], "some words") || !strings.Contains(questions[0], "b.txt") {
					t.Errorf("questions %q, want one with the tool, the arguments and what it accesses", questions)
				}
			})
		}
	})
}

func TestApproval_HoldsForOneCall(t *testing.T) {
	each(t, func(t *testing.T, connect func(*bench, *sdk.ClientOptions) *sdk.ClientSession) {
		b := newBench(t, nil)
		var questions []string
		s := connect(b, asked(&sdk.ElicitResult{Action: "accept", Content: object{"decision": "allow once"}}, nil, &questions))
		for range 2 {
			if r, got := call(t, s, "shell", object{"command": "touch x"}); r.IsError {
				t.Fatal(got)
			}
		}
		if len(questions) != 2 {
			t.Errorf("%d questions for two calls, want 2", len(questions))
		}
	})
}

// TestApproval_AnswerIsBoundToItsCall acts as a client that answers a question by repeating the call.
func TestApproval_AnswerIsBoundToItsCall(t *testing.T) {
	b := newBench(t, nil)
	s := b.http(t, "2026-07-28", &sdk.ClientOptions{
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}},
	})
	try := func(command, state string, answered bool) *sdk.CallToolResult {
		t.Helper()
		p := &sdk.CallToolParams{Name: "shell", Arguments: object{"command": command}, RequestState: state}
		if answered {
			p.InputResponses = sdk.InputResponseMap{questionKey: &sdk.ElicitResult{Action: "accept", Content: object{"decision": "allow once"}}}
		}
		r, err := s.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, attack := range map[string]func(state string) *sdk.CallToolResult{
		"no question":    func(string) *sdk.CallToolResult { return try("touch x", "", true) },
		"invented state": func(string) *sdk.CallToolResult { return try("touch x", "AAAA", true) },
		"other call":     func(state string) *sdk.CallToolResult { return try("touch x y", state, true) },
		"no answer":      func(state string) *sdk.CallToolResult { return try("touch x", state, false) },
		"answer used before": func(state string) *sdk.CallToolResult {
			if r := try("touch x", state, true); r.IsError || len(r.InputRequests) > 0 {
				t.Errorf("the answer does not count: %s", asJSON(t, r))
			}
			_ = os.Remove(filepath.Join(b.dir, "x"))
			return try("touch x", state, true)
		},
	} {
		first := try("touch x", "", false)
		if len(first.InputRequests) != 1 || first.RequestState == "" {
			t.Fatalf("the first result is %s, want a question", asJSON(t, first))
		}
		r := attack(first.RequestState)
		if _, err := os.Stat(filepath.Join(b.dir, "x")); err == nil || len(r.InputRequests) != 1 {
			t.Errorf("%s: the command ran: %v, result %s; want another question", name, err == nil, asJSON(t, r))
		}
	}
}

func TestApproval_QuestionsAreBounded(t *testing.T) {
	var q questions
	first := q.ask(digest("first"))
	for i := range maxOpen {
		q.ask(digest(fmt.Sprint(i)))
	}
	if len(q.about) > maxOpen || q.answered(first, digest("first")) {
		t.Errorf("%d questions are open, the first one still: want at most %d", len(q.about), maxOpen)
	}
}

func TestApproval_AnsweredQuestionsDoNotPushOutOpenOnes(t *testing.T) {
	var q questions
	first := q.ask(digest("first"))
	for range maxOpen {
		q.answered(q.ask(digest("other")), digest("other"))
	}
	if !q.answered(first, digest("first")) {
		t.Error("the first question is no longer open, want it open")
	}
}

func TestApproval_WhatCannotBeShownIsRefused(t *testing.T) {
	b := newBench(t, nil)
	var questions []string
	s, _ := b.stdio(t, versions[0], asked(&sdk.ElicitResult{Action: "accept", Content: object{"decision": "allow once"}}, nil, &questions))
	r, got := call(t, s, "write_file", object{"file_path": "b.txt", "content": strings.Repeat("x", maxQuestion)})
	if !r.IsError || len(questions) != 0 || !strings.Contains(got, "too large") {
		t.Errorf("%d questions, %q; want none and a refusal", len(questions), got)
	}
}

func TestApproval_QuestionIsRedacted(t *testing.T) {
	b := newBench(t, nil)
	var questions []string
	s, _ := b.stdio(t, versions[0], asked(&sdk.ElicitResult{Action: "decline"}, nil, &questions))
	call(t, s, "shell", object{"command": "touch hunter2hunter2hunter2"})
	if len(questions) != 1 || strings.Contains(questions[0], "hunter2") || !strings.Contains(questions[0], "[redacted:API_TOKEN]") {
		t.Errorf("the client is asked %q, want the secret redacted", questions)
	}
}

// TestApproval_WaitingCallsDoNotBlockOthers checks that calls run while questions have no answer.
func TestApproval_WaitingCallsDoNotBlockOthers(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxCalls = 1 })
	asking, answer := make(chan struct{}), make(chan struct{})
	s, _ := b.stdio(t, versions[0], &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		close(asking)
		<-answer
		return &sdk.ElicitResult{Action: "decline"}, nil
	}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.CallTool(context.Background(), &sdk.CallToolParams{Name: "shell", Arguments: object{"command": "touch x"}})
	}()
	<-asking
	if r, got := call(t, s, "glob", object{"pattern": "*"}); r.IsError {
		t.Error(got)
	}
	close(answer)
	<-done
}

func TestApproval_GuardRefusesBeforeAnybodyIsAsked(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Guard = func(context.Context, tool.Request) *tool.Approval {
			return &tool.Approval{Allow: true, Message: "not today"}
		}
	})
	var questions []string
	s, _ := b.stdio(t, versions[0], asked(&sdk.ElicitResult{Action: "accept", Content: object{"decision": "allow once"}}, nil, &questions))
	if r, got := call(t, s, "shell", object{"command": "touch x"}); !r.IsError || !strings.Contains(got, "not today") || len(questions) != 0 {
		t.Errorf("%d questions, %q; want none and the guard's refusal", len(questions), got)
	}
}

func TestProgress_ShowsOutputAsItAppears(t *testing.T) {
	each(t, func(t *testing.T, connect func(*bench, *sdk.ClientOptions) *sdk.ClientSession) {
		next := make(chan struct{})
		talk := tool.New(tool.Spec{Name: "talk"}, tool.Nothing, func(ctx context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
			for _, piece := range []string{"one é", "two \xc3", "\xa9 hunter2hunter2hunter2 "} {
				c.Output([]byte(piece))
				if piece == "one é" { // it must arrive while the call runs
					<-next
				}
			}
			return tool.Success("done"), nil
		})
		var mu sync.Mutex
		var shown string
		var last float64
		s := connect(newBench(t, nil, talk), &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			if r.Params.Progress <= last || r.Params.ProgressToken != "t" {
				t.Errorf("progress %v of %v after %v", r.Params.Progress, r.Params.ProgressToken, last)
			}
			if shown == "" {
				close(next)
			}
			shown, last = shown+r.Params.Message, r.Params.Progress
		}})
		p := &sdk.CallToolParams{Name: "talk", Meta: sdk.Meta{"progressToken": "t"}}
		if _, err := s.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil { // all notifications have arrived
			t.Log(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if shown != "one étwo é [redacted:API_TOKEN] " {
			t.Errorf("the client saw %q", shown)
		}
	})
}

func TestProgress_FloodIsBoundedAndDoesNotDelayTheCall(t *testing.T) {
	flood := tool.New(tool.Spec{Name: "flood"}, tool.Nothing, func(_ context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
		for range 10_000 {
			c.Output(bytes.Repeat([]byte("flood "), 1000))
		}
		return tool.Success("done"), nil
	})
	var mu sync.Mutex
	most, total := 0, 0
	s, _ := newBench(t, nil, flood).stdio(t, versions[0], &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		most, total = max(most, len(r.Params.Message)), total+len(r.Params.Message)
	}})
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "flood", Meta: sdk.Meta{"progressToken": 1}}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > maxProgress || total > 20<<20 {
		t.Errorf("the longest notification has %d bytes, all have %d of 60 MB", most, total)
	}
}

func TestCancel_OfARequestCancelsTheCall(t *testing.T) {
	each(t, func(t *testing.T, connect func(*bench, *sdk.ClientOptions) *sdk.ClientSession) {
		w := newWait()
		s := connect(newBench(t, nil, w.tool()), nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-w.started
			cancel()
		}()
		if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "wait"}); err == nil {
			t.Error("the call succeeded, want an error")
		}
		<-w.ended
	})
}

func TestRun_EndsWithItsInputAlthoughACallRuns(t *testing.T) {
	old := grace
	grace = 0
	defer func() { grace = old }()
	w := newWait()
	s, end := newBench(t, nil, w.tool()).stdio(t, versions[0], nil)
	go func() { _, _ = s.CallTool(context.Background(), &sdk.CallToolParams{Name: "wait"}) }()
	<-w.started
	end()
	<-w.ended
}

// TestRun_AnswersRequestsBeforeTheEndOfItsInput pipes requests to a server.
func TestRun_AnswersRequestsBeforeTheEndOfItsInput(t *testing.T) {
	goOn := make(chan struct{})
	slow := tool.New(tool.Spec{Name: "slow"}, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		<-goOn
		return tool.Success("done"), nil
	})
	in := io.MultiReader(strings.NewReader(initialize+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`+"\n"), ended(goOn))
	var out bytes.Buffer
	if err := newBench(t, nil, slow).Run(t.Context(), in, &out); err != nil || !strings.Contains(out.String(), `"text":"done"`) {
		t.Errorf("Run: %v, output %s; want the result of the call", err, out.String())
	}
}

// ended is a reader that closes a channel at its end.
type ended chan struct{}

func (e ended) Read([]byte) (int, error) {
	close(e)
	return 0, io.EOF
}

func TestRun_RefusesHugeMessages(t *testing.T) {
	in := io.MultiReader(strings.NewReader(initialize+"\n{"), io.LimitReader(spaces{}, maxMessage+1))
	if err := newBench(t, nil).Run(t.Context(), in, io.Discard); err == nil {
		t.Error("a message of more than 8 MiB: no error")
	}
}

func TestRun_EndsWithItsContextAlthoughNothingIsRead(t *testing.T) {
	r, w, err := os.Pipe() // as for standard input, reads are not interrupted
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- newBench(t, nil).Run(ctx, r, &bytes.Buffer{}) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v, want nil", err)
	}
}

func TestCalls_AreLimited(t *testing.T) {
	entered, release := make(chan struct{}, 10), make(chan struct{})
	enter := tool.New(tool.Spec{Name: "enter"}, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		entered <- struct{}{}
		<-release
		return tool.Success("done"), nil
	})
	s, _ := newBench(t, func(c *Config) { c.MaxCalls = 2 }, enter).stdio(t, versions[0], nil)
	var wg sync.WaitGroup
	for range cap(entered) {
		wg.Go(func() {
			if r, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "enter"}); err != nil || r.IsError {
				t.Errorf("%s, %v", asJSON(t, r), err)
			}
		})
	}
	<-entered
	<-entered
	for range 50 { // other requests are answered, and give further calls time to begin
		if err := s.Ping(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(entered); n > 0 {
		t.Errorf("%d calls ran at the same time, want 2", n+2)
	}
	close(release)
	wg.Wait()
}

func TestCall_StructuredContentHasOnlyWhatTheSchemaNames(t *testing.T) {
	count := tool.New(tool.Spec{Name: "count", Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
			return tool.Result{Output: tool.Text("three"), Fields: object{"n": 3, "internal": true}}, nil
		})
	plain := tool.New(tool.Spec{Name: "plain"}, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Result{Output: tool.Text("three"), Fields: object{"n": 3}}, nil
	})
	s, _ := newBench(t, nil, count, plain).stdio(t, versions[0], nil)
	if r, got := call(t, s, "count", nil); asJSON(t, r.StructuredContent) != `{"n":3}` || got != "three" {
		t.Errorf("count: %s, want the field that the schema names", asJSON(t, r))
	}
	if r, _ := call(t, s, "plain", nil); r.StructuredContent != nil {
		t.Errorf("plain: %s, want no structured content", asJSON(t, r))
	}
}

// TestPolicy_CannotBeBypassedByOddArguments calls a tool that must not run, in ways that a client could try.
func TestPolicy_CannotBeBypassedByOddArguments(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.stdio(t, versions[1], nil)
	outside := filepath.Join(t.TempDir(), "out")
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]any{
		"write outside":        object{"file_path": outside, "content": "x"},
		"write through a link": object{"file_path": "link/out", "content": "x"},
		"dots":                 object{"file_path": "a/../../" + filepath.Base(filepath.Dir(outside)) + "/out", "content": "x"},
		"duplicate key":        json.RawMessage(`{"file_path":"a.txt","file_path":` + asJSON(t, outside) + `,"content":"x"}`),
		"other case":           json.RawMessage(`{"file_path":"a.txt","FILE_PATH":` + asJSON(t, outside) + `,"content":"x"}`),
		"not an object":        []any{outside, "x"},
		"text":                 "x",
		"null":                 json.RawMessage(`null`),
		"NUL":                  object{"file_path": "a.txt\x00" + outside, "content": "x"},
	} {
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "write_file", Arguments: args, Meta: sdk.Meta{"approved": true, "mode": "bypassPermissions"}})
		if err == nil && !r.IsError {
			t.Errorf("%s: %s, want an error", name, asJSON(t, r))
		}
		if _, err := os.Stat(outside); err == nil {
			t.Fatalf("%s: the file outside was written", name)
		}
		if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 1 {
			t.Fatalf("%s: %v, %v; want only the link", name, entries, err)
		}
	}
}

func TestNew_RejectsWhatItCannotServe(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a server without a pipeline: no error")
	}
	bad := tool.NewRaw(tool.Spec{Name: "bad", Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`nonsense`)}, nil, nil)
	reg := &tool.Registry{}
	if err := reg.Register(bad); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	if _, err := New(Config{Pipeline: &tool.Pipeline{Registry: reg}, Env: b.config.Env}); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("a tool with an invalid output schema: %v", err)
	}
}
