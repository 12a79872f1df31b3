package openai

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reins-agent/reins/llm"
)

const model = "gpt-5.5"

// thought returns a thinking part from this model.
func thought(n int) llm.Thinking {
	item := fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":"Step %d."}],"encrypted_content":"gAAAA%dé\u00e9=="}`, n, n, n)
	return llm.Thinking{Text: fmt.Sprintf("Step %d.", n), State: llm.State{Dialect: Name, Model: model, Data: []byte(item)}}
}

// turn makes the messages for one round in a coding conversation: a question now and then, an answer with reasoning and
// parallel calls, and their results.
func turn(n int) []llm.Message {
	var msgs []llm.Message
	if n%5 == 0 {
		user := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: fmt.Sprintf("Question %d:\n\"why\"?\t\x01", n)}}}
		if n%10 == 0 {
			user.Parts = append(user.Parts, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte{1, 2, byte(n)}}})
		}
		msgs = append(msgs, user)
	}
	assistant := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		thought(n),
		llm.Text{Text: fmt.Sprintf("Looking at %d.", n), State: llm.State{Dialect: Name, Model: model, Data: fmt.Appendf(nil, `{"message":{"id":"msg_%d","status":"completed","phase":"commentary"}}`, n)}},
	}}
	var results []llm.ToolResult
	for i := range 1 + n%3 {
		c := llm.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, i), Name: "read", Arguments: fmt.Sprintf(`{"path":"file%d.go"}`, i)}
		c.Custom = i == 2
		c.State = llm.State{Dialect: Name, Model: model, Data: fmt.Appendf(nil, `{"id":"fc_%d_%d","status":"completed"}`, n, i)}
		assistant.Parts = append(assistant.Parts, c)
		r := llm.TextResult(c, fmt.Sprintf("content of %d\n", i), n%7 == 0)
		if n%11 == 3 {
			r.Parts = append(r.Parts, llm.Image{Media: llm.Media{URL: "https://example.org/a.png"}, Detail: "low"})
		}
		results = append(results, r)
	}
	if n%4 == 1 {
		assistant.Parts = append(assistant.Parts, llm.Opaque{Kind: "web_search_call", State: llm.State{Dialect: Name, Model: model, Data: fmt.Appendf(nil, `{"type":"web_search_call","id":"ws_%d"}`, n)}})
	}
	return append(msgs, assistant, llm.ToolResults(results...))
}

// longRequest returns a request with this many turns, and tools.
func longRequest(turns int) *llm.Request {
	r := &llm.Request{
		Model:    model,
		CacheKey: "session-1",
		Effort:   "high",
		Messages: []llm.Message{llm.SystemText("You are a coder.")},
		Tools: []llm.ToolDef{
			{Name: "read", Description: "Reads a file.", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			{Name: "patch", Freeform: &llm.Freeform{Syntax: "lark", Definition: "start: /.+/"}},
		},
	}
	for n := range turns {
		r.Messages = append(r.Messages, turn(n)...)
	}
	return r
}

func body(t testing.TB, r *llm.Request) []byte {
	t.Helper()
	call, err := NewDialect(Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return call.Body.Bytes()
}

func TestEncode_EachRequestIsAPrefixOfTheNext(t *testing.T) {
	for _, cache := range []*llm.Cache{nil, {}} {
		r := longRequest(0)
		r.Cache = cache
		var before []byte
		for n := range 50 {
			r.Messages = append(r.Messages, turn(n)...)
			now := body(t, r)
			prefix := bytes.TrimSuffix(before, []byte("]}"))
			if !bytes.HasPrefix(now, prefix) {
				t.Fatalf("turn %d: the request before is no prefix of\n%s", n, now)
			}
			before = now
		}
	}
}

func TestEncode_CachedIsTheSameAsFromScratch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	cache := &llm.Cache{}
	r := longRequest(3)
	for step := range 600 {
		switch rnd.IntN(14) {
		case 0: // another conversation
			r = longRequest(rnd.IntN(4))
		case 1: // going back
			r.Messages = r.Messages[:1+rnd.IntN(len(r.Messages))]
		case 2:
			r.Model = []string{model, "gpt-4o"}[rnd.IntN(2)]
		case 3:
			r.Options = map[string]llm.Options{Name: {Body: map[string]jsonRaw{"store": jsonRaw("true")}}}
		case 4:
			r.Options = nil
		case 5:
			r.Options = map[string]llm.Options{Name: {Body: map[string]jsonRaw{[]string{"tools", "instructions"}[rnd.IntN(2)]: jsonRaw("null")}}}
		case 6:
			r.Tools = slices.Clone(longRequest(0).Tools)
			r.Tools[0].Name = fmt.Sprintf("read_%d", step)
		case 7:
			r.Tools = r.Tools[:rnd.IntN(len(r.Tools)+1)]
		case 8: // other instructions, possibly empty or missing
			r.Messages = slices.Clone(r.Messages)
			r.Messages[0] = []llm.Message{llm.SystemText(""), llm.SystemText(fmt.Sprint("You are coder ", step)), llm.UserText("Hello.")}[rnd.IntN(3)]
		default:
			r.Messages = append(r.Messages, turn(step)...)
		}
		r.Cache = nil
		want := body(t, r)
		r.Cache = cache
		if got := body(t, r); !bytes.Equal(got, want) {
			t.Fatalf("step %d:\n got %s\nwant %s", step, got, want)
		}
	}
}

func TestEncode_BodyStaysValidWhileTheConversationGrows(t *testing.T) {
	r := longRequest(1)
	r.Cache = &llm.Cache{}
	d := NewDialect(Config{})
	first, err := d.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	want := first.Body.Bytes()
	for n := range 40 {
		r.Messages = append(r.Messages, turn(n)...)
		body(t, r)
	}
	other := longRequest(2)
	other.Cache = r.Cache
	body(t, other)
	if got := first.Body.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("the first body changed:\n got %s\nwant %s", got, want)
	}
}

func TestEncode_FailureIsNotCached(t *testing.T) {
	cache := &llm.Cache{}
	r := &llm.Request{Model: model, Cache: cache, Messages: []llm.Message{
		llm.UserText("a"),
		{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{}}},
	}}
	if _, err := NewDialect(Config{}).Encode(r); err == nil {
		t.Fatal("an image without data was encoded")
	}
	r.Messages = r.Messages[:1]
	want := body(t, &llm.Request{Model: model, Messages: r.Messages})
	if got := body(t, r); !bytes.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	r.Tools = []llm.ToolDef{{Name: "broken", Parameters: []byte("{")}}
	for range 2 {
		if _, err := NewDialect(Config{}).Encode(r); err == nil {
			t.Error("a tool with invalid parameters was encoded")
		}
	}
}

func BenchmarkEncode200(b *testing.B) {
	r := longRequest(95)
	r.Messages = r.Messages[:200]
	d := NewDialect(Config{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode200Cached adds two messages to a conversation of 200 to 300, again and again.
func BenchmarkEncode200Cached(b *testing.B) {
	full := longRequest(150)
	d := NewDialect(Config{})
	r := *full
	n := 300
	b.ReportAllocs()
	for b.Loop() {
		if n == 300 {
			b.StopTimer()
			n = 200
			r.Messages, r.Cache = full.Messages[:n], &llm.Cache{}
			body(b, &r)
			b.StartTimer()
		}
		n += 2
		r.Messages = full.Messages[:n]
		if _, err := d.Encode(&r); err != nil {
			b.Fatal(err)
		}
	}
}
