package chat

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reins-agent/reins/internal/exchanges"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// replay returns a provider whose server answers with these recordings, one after the other.
func replay(t *testing.T, names ...string) (llm.Provider, *exchanges.Server) {
	t.Helper()
	srv := exchanges.Serve(t, func(exchanges.Request) string {
		name := names[0]
		names = names[1:]
		return name
	})
	return local(t, srv.URL+"/v1", nil), srv
}

func local(t *testing.T, baseURL string, c *llm.Catalogue) llm.Provider {
	t.Helper()
	client := wire.NewHTTPClient(llm.Limits{})
	t.Cleanup(client.CloseIdleConnections)
	return New(Config{Endpoint: llm.Endpoint{Name: "local", BaseURL: baseURL, HTTPClient: client}, Catalogue: c})
}

func hello(parts ...llm.Part) *llm.Request {
	return &llm.Request{Model: "x", Messages: []llm.Message{{Role: llm.RoleUser, Parts: append(parts, llm.Text{Text: "hi"})}}}
}

func TestLocal_RepeatsARequestWhoseConnectionWasClosed(t *testing.T) {
	p, srv := replay(t, "llamacpp-stream", "llamacpp-stream", "llamacpp-text")
	for i := range 3 {
		resp, err := llm.Collect(p.Stream(t.Context(), hello()))
		if err != nil || !strings.HasPrefix(resp.Text(), "Hello from a real server") {
			t.Fatalf("call %d: %v, %v", i+1, resp, err)
		}
	}
	for _, r := range srv.Requests("") {
		if _, sent := r.Header["Idempotency-Key"]; sent {
			t.Errorf("the header Idempotency-Key was sent: %q", r.Header["Idempotency-Key"])
		}
	}
}

func TestLocal_AClosedConnectionThatWasNewIsAnError(t *testing.T) {
	p, srv := replay(t, "llamacpp-closed")
	if _, err := llm.Collect(p.Stream(t.Context(), hello())); llm.KindOf(err) != llm.ErrNetwork || len(srv.Requests("")) != 1 {
		t.Errorf("%v after %d requests", err, len(srv.Requests("")))
	}
}

func TestLocal_ErrorsHaveTheirKind(t *testing.T) {
	image := llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("png")}}
	for name, want := range map[string]llm.Error{
		"llamacpp-loading": {Kind: llm.ErrLoading, Message: "Loading model"},
		"llamacpp-context": {Kind: llm.ErrContextLength, Window: 8192},
		"llamacpp-image":   {Kind: llm.ErrInvalidRequest, Item: &llm.Item{Message: 0, Part: 0, Inner: -1}},
		"llamacpp-no-key":  {Kind: llm.ErrAuthentication},
		"ollama-no-model":  {Kind: llm.ErrNotFound, Message: "model 'nosuch' not found"},
		"ollama-no-tools":  {Kind: llm.ErrInvalidRequest, Message: "does not support tools"},
	} {
		p, _ := replay(t, name)
		_, err := llm.Collect(p.Stream(t.Context(), hello(image)))
		e, ok := err.(*llm.Error)
		if !ok || e.Kind != want.Kind || e.Window != want.Window || !strings.Contains(e.Message, want.Message) || strings.Contains(e.Message, "/v1") {
			t.Errorf("%s: %#v", name, err)
			continue
		}
		if e.Retryable() != (name == "llamacpp-loading") {
			t.Errorf("%s: retryable %v", name, e.Retryable())
		}
		if (e.Item == nil) != (want.Item == nil) || e.Item != nil && *e.Item != *want.Item {
			t.Errorf("%s: the refused item is %v, want %v", name, e.Item, want.Item)
		}
	}
}

func TestLocal_ABaseURLWithoutV1IsExplained(t *testing.T) {
	srv := exchanges.Serve(t, func(r exchanges.Request) string { return "ollama-no-v1" })
	_, err := llm.Collect(local(t, srv.URL, nil).Stream(t.Context(), hello()))
	if llm.KindOf(err) != llm.ErrNotFound || !strings.Contains(err.Error(), "need "+srv.URL+"/v1") {
		t.Errorf("without a path: %v", err)
	}
	_, err = llm.Collect(local(t, srv.URL+"/v1", nil).Stream(t.Context(), hello()))
	if err == nil || strings.Contains(err.Error(), "base URL") {
		t.Errorf("with a path: %v", err)
	}
}

func TestLocal_SeparatesThinkingInTheText(t *testing.T) {
	for _, name := range []string{"llamacpp-think-stream", "llamacpp-think"} {
		p, _ := replay(t, name)
		r := hello()
		r.Unary = name == "llamacpp-think"
		var streamed string
		var resp *llm.Response
		for ev, err := range p.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case llm.TextDelta:
				streamed += ev.Text
			case llm.Finish:
				resp = ev.Response
			}
		}
		if resp.Text() != "It is four, surely." || streamed != resp.Text() {
			t.Errorf("%s: text %q, streamed %q", name, resp.Text(), streamed)
		}
		if got := resp.Thinking(); got != "Let me ponder upon it for a moment: two and two.\n" {
			t.Errorf("%s: thinking %q", name, got)
		}
		if think := resp.Message.Parts[0].(llm.Thinking); len(think.State.Data) > 0 {
			t.Errorf("%s: the thinking would be sent back: %+v", name, think)
		}
	}
}

func TestInline_SplitsInEveryPlace(t *testing.T) {
	for _, tt := range []struct{ in, thinking, text string }{
		{"<think>\na\n</think>\n\nb", "a\n", "b"},
		{" \n<think>a</think>b", "a", "b"},
		{"<think></think>b", "", "b"},
		{"<think>\n\n</think>\n\nb", "", "b"},
		{"<think>a < b </thin </think> c </think>", "a < b </thin ", "c </think>"},
		{"<think>a</thi", "a</thi", ""},
		{"<think>a", "a", ""},
		{"<thin", "", "<thin"},
		{"<thinking>a</thinking>", "", "<thinking>a</thinking>"},
		{"Use <think>a</think>", "", "Use <think>a</think>"},
		{"  plain", "", "  plain"},
		{" \n", "", " \n"},
		{"", "", ""},
	} {
		for size := 1; size <= max(len(tt.in), 1); size++ {
			var in inline
			var thinking, text string
			for piece := range slices.Chunk([]byte(tt.in), size) {
				a, b := in.split(string(piece))
				thinking, text = thinking+a, text+b
			}
			a, b := in.flush()
			if thinking, text = thinking+a, text+b; thinking != tt.thinking || text != tt.text {
				t.Errorf("%q in pieces of %d: thinking %q, text %q", tt.in, size, thinking, text)
			}
		}
	}
}

func TestInline_OnlyBeforeOtherPartsAndForServersThatMayNeedIt(t *testing.T) {
	read := func(q quirks, lines ...string) *llm.Response {
		body := strings.Join(append(lines, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "data: [DONE]"), "\n\n") + "\n\n"
		a := wire.NewAssembler(Name, "m", nil)
		ans := wire.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: iotest.OneByteReader(strings.NewReader(body)), Stream: true}
		if err := wire.Read(fixed(q), ans, a); err != nil {
			t.Fatal(err)
		}
		return a.Response()
	}
	say := func(member, text string) string {
		return `data: {"choices":[{"index":0,"delta":{"` + member + `":"` + text + `"}}]}`
	}
	if r := read(quirks{}, say("reasoning_content", "hm"), say("content", "<think>a</think>b")); r.Text() != "<think>a</think>b" || r.Thinking() != "hm" {
		t.Errorf("after thinking that the server split off: %q, %q", r.Thinking(), r.Text())
	}
	if r := read(quirks{NoTextTools: true}, say("content", "<think>a</think>b")); r.Text() != "<think>a</think>b" {
		t.Errorf("from a server that splits: %q", r.Text())
	}
	call := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}}]}`
	if r := read(quirks{}, say("content", "<think>a"), call); r.Thinking() != "a" || len(r.ToolCalls()) != 1 || r.Text() != "" {
		t.Errorf("unclosed before a call: %+v", r.Message)
	}
}

func TestEncode_SendsTheModelsMaxOutput(t *testing.T) {
	catalogue, err := llm.NewCatalogue([]llm.Model{
		{ID: "x", Provider: "local", MaxOutput: 500}, {ID: "other", Provider: "elsewhere", MaxOutput: 600}, {ID: "unlimited", Provider: "local"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		model string
		limit int
		want  string
	}{{"x", 0, `"max_tokens":500`}, {"x", 7, `"max_tokens":7`}, {"other", 0, ""}, {"unlimited", 0, ""}} {
		srv := exchanges.Serve(t, func(exchanges.Request) string { return "ollama-text" })
		r := hello()
		r.Model, r.MaxTokens, r.Unary = tt.model, tt.limit, true
		if _, err := llm.Collect(local(t, srv.URL+"/v1", catalogue).Stream(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
		body := srv.Requests("")[0].Body
		if tt.want == "" && strings.Contains(body, "max_") || !strings.Contains(body, tt.want) {
			t.Errorf("%s with limit %d: %s, want %s", tt.model, tt.limit, body, tt.want)
		}
	}
}

func TestEncode_OmitsImagesForModelsWithoutVision(t *testing.T) {
	catalogue, err := llm.NewCatalogue([]llm.Model{{ID: "x", Provider: "vendor", Vision: true}, {ID: "x", Provider: "local"}})
	if err != nil {
		t.Fatal(err)
	}
	srv := exchanges.Serve(t, func(exchanges.Request) string { return "ollama-image-ignored" })
	r := hello(llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("png")}})
	r.Unary = true
	if _, err := llm.Collect(local(t, srv.URL+"/v1", catalogue).Stream(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	if body := srv.Requests("")[0].Body; strings.Contains(body, "image_url") || !strings.Contains(body, "does not accept images") {
		t.Errorf("the request is %s", body)
	}
}
