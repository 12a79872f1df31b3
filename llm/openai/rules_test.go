package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// ruled is a catalogue with a model of each kind.
const ruled = `{"models": [
	{"id":"new","provider":"openai","reasoning":true,"efforts":["low","medium","high","max"],
		"rules":{"sampling":"always","cache":"prompt_cache_options","cache_ttls":["30m","12h"],"inline_tools":true,"late_system":true}},
	{"id":"old","provider":"openai","reasoning":true,"efforts":["none","low","high"],
		"rules":{"sampling":"thinking","cache":"prompt_cache_retention","cache_ttls":["24h"]}},
	{"id":"plain","provider":"openai"}],
	"families": [{"provider":"openai","prefix":"new-","like":"new"}]}`

func ruledDialect(t *testing.T) wire.Dialect {
	t.Helper()
	c, err := llm.ReadCatalogue(strings.NewReader(ruled))
	if err != nil {
		t.Fatal(err)
	}
	return NewDialect(Config{Catalogue: c})
}

func TestEncode_FollowsTheModelsRules(t *testing.T) {
	for name, c := range map[string]struct {
		request llm.Request
		member  string
		want    string // value in the member, or text in the error
	}{
		"effort":                   {llm.Request{Model: "new", Effort: "high"}, "reasoning", `{"effort":"high","summary":"auto"}`},
		"effort not listed":        {llm.Request{Model: "new", Effort: "none"}, "reasoning", `{"effort":"low","summary":"auto"}`},
		"effort above all":         {llm.Request{Model: "old", Effort: "max"}, "reasoning", `{"effort":"high","summary":"auto"}`},
		"effort of the family":     {llm.Request{Model: "new-er", Effort: "minimal"}, "reasoning", `{"effort":"low","summary":"auto"}`},
		"effort of unknown models": {llm.Request{Model: "other", Effort: "minimal"}, "reasoning", `{"effort":"minimal"}`},
		"no summary if unknown":    {llm.Request{Model: "other"}, "reasoning", ""},
		"no summary if plain":      {llm.Request{Model: "plain", Display: "summarized"}, "reasoning", ""},
		"temperature":              {llm.Request{Model: "plain", Temperature: ptr(0.5)}, "temperature", "0.5"},
		"temperature refused":      {llm.Request{Model: "new", Temperature: ptr(1.0)}, "error", "new does not accept temperature; set the effort instead"},
		"top_p refused":            {llm.Request{Model: "new-er", TopP: ptr(1.0)}, "error", "new-er does not accept top_p; set the effort instead"},
		"top_k is ignored":         {llm.Request{Model: "new", TopK: ptr(1)}, "top_k", ""},
		"temperature while it thinks": {llm.Request{Model: "old", Temperature: ptr(0.5)}, "error",
			"old does not accept temperature; set the effort instead"},
		"temperature without thinking": {llm.Request{Model: "old", Effort: "none", Temperature: ptr(0.5)}, "temperature", "0.5"},
		"cache options":                {llm.Request{Model: "new", CacheTTL: "12h"}, "prompt_cache_options", `{"ttl":"12h"}`},
		"no cache":                     {llm.Request{Model: "new", NoCache: true}, "prompt_cache_options", `{"mode":"explicit"}`},
		"no cache of an old model":     {llm.Request{Model: "old", NoCache: true}, "prompt_cache_options", ""},
		"cache retention":              {llm.Request{Model: "old", CacheTTL: "24h"}, "prompt_cache_retention", `"24h"`},
		"no options for old models":    {llm.Request{Model: "old", CacheTTL: "24h"}, "prompt_cache_options", ""},
		"lifetime refused":             {llm.Request{Model: "old", CacheTTL: "12h"}, "error", `old does not accept the cache lifetime "12h"; use 24h`},
		"no lifetimes":                 {llm.Request{Model: "plain", CacheTTL: "1h"}, "error", `plain has no cache lifetime that can be set; leave out "1h"`},
		"no cache with a lifetime": {llm.Request{Model: "new", CacheTTL: "12h", NoCache: true}, "error",
			`a request without a cache cannot have the cache lifetime "12h"; leave one out`},
	} {
		t.Run(name, func(t *testing.T) {
			call, err := ruledDialect(t).Encode(&c.request)
			if c.member == "error" {
				e, ok := err.(*llm.Error)
				if !ok || e.Kind != llm.ErrConfiguration || e.Message != c.want {
					t.Errorf("got %v, want a configuration error: %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]jsonRaw
			if err := json.Unmarshal(call.Body.Bytes(), &got); err != nil || string(got[c.member]) != c.want {
				t.Errorf("%v: got %s %s, want %s", err, c.member, got[c.member], c.want)
			}
		})
	}
}

func TestEncode_AddedToolsAndLateInstructionsStayInPlace(t *testing.T) {
	const function = `{"type":"function","name":"%","parameters":{"type":"object","properties":{}},"strict":false}`
	tool := func(name string) string { return strings.ReplaceAll(function, "%", name) }
	const question = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	added := llm.ToolChange{Add: []llm.ToolDef{{Name: "b"}}}
	removed := llm.ToolChange{Remove: []llm.RemovedTool{{At: 1, Tool: llm.ToolDef{Name: "b"}}}}
	tools := func(names ...string) (defs []llm.ToolDef) {
		for _, n := range names {
			defs = append(defs, llm.ToolDef{Name: n})
		}
		return defs
	}
	for name, c := range map[string]struct {
		model  string
		tools  []llm.ToolDef
		late   []llm.Part
		want   string
		system string
	}{
		"added": {"new", tools("a", "b"), []llm.Part{added},
			`"tools":[` + tool("a") + `],"input":[` + question + `,{"type":"additional_tools","role":"developer","tools":[` + tool("b") + `]}]}`, "s"},
		"added with a text": {"new", tools("a", "b"), []llm.Part{llm.Text{Text: "t"}, added},
			`"tools":[` + tool("a") + `],"input":[` + question + `,{"type":"message","role":"developer","content":[{"type":"input_text","text":"t"}]},` +
				`{"type":"additional_tools","role":"developer","tools":[` + tool("b") + `]}]}`, "s"},
		"removed":       {"new", tools("a"), []llm.Part{removed}, `"tools":[` + tool("a") + `],"input":[` + question + `]}`, "s"},
		"does not fit":  {"new", tools("a"), []llm.Part{added}, `"tools":[` + tool("a") + `],"input":[` + question + `]}`, "s"},
		"not supported": {"old", tools("a", "b"), []llm.Part{added}, `"tools":[` + tool("a") + `,` + tool("b") + `],"input":[` + question + `]}`, "s"},
		"text of an old model": {"old", tools("a", "b"), []llm.Part{llm.Text{Text: "t"}, added},
			`"tools":[` + tool("a") + `,` + tool("b") + `],"input":[` + question + `]}`, `s\n\nt`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &llm.Request{Model: c.model, Tools: c.tools, Messages: []llm.Message{
				llm.SystemText("s"), llm.UserText("hi"), {Role: llm.RoleSystem, Parts: c.late}}}
			for _, r.Cache = range []*llm.Cache{nil, {}} {
				call, err := ruledDialect(t).Encode(r)
				if err != nil {
					t.Fatal(err)
				}
				got := string(call.Body.Bytes())
				if want := `"instructions":"` + c.system + `",` + c.want; !strings.HasSuffix(got, want) {
					t.Errorf("\n got %s\nwant …%s", got, want)
				}
			}
		})
	}
}

func TestEncode_AddingToolsExtendsTheRequest(t *testing.T) {
	d, cache := ruledDialect(t), &llm.Cache{}
	r := &llm.Request{Model: "new", Cache: cache, Tools: []llm.ToolDef{{Name: "a"}}, Messages: []llm.Message{llm.SystemText("s"), llm.UserText("hi")}}
	var before []byte
	for _, name := range []string{"b", "c", "d"} {
		call, err := d.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		now := call.Body.Bytes()
		if !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("]}"))) {
			// The first change is sent in the form for changes, but with the same bytes before it.
			t.Errorf("%s\nis not a prefix of\n%s", before, now)
		}
		before = now
		tools := append([]llm.ToolDef(nil), r.Tools...)
		r.Tools = append(tools, llm.ToolDef{Name: name})
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.ToolChange{Add: []llm.ToolDef{{Name: name}}}}})
	}
}

func TestProvider_DoesWithoutSummariesThatTheServerRefuses(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(data), `"summary"`) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Your organization must be verified.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"r","status":"completed","output":[]}`)
	}))
	defer server.Close()
	for _, test := range []struct {
		display string
		calls   int
		fails   bool
	}{{"", 2, false}, {"", 1, false}, {"detailed", 1, true}} {
		bodies = nil
		p := provider(server.URL)
		if test.calls == 1 && !test.fails {
			p = learned(t, server.URL)
			bodies = nil
		}
		_, err := llm.Collect(p.Stream(context.Background(), &llm.Request{Model: model, Unary: true, Display: test.display}))
		if (err != nil) != test.fails || len(bodies) != test.calls {
			t.Errorf("display %q: got %v after %d requests, want %d", test.display, err, len(bodies), test.calls)
		}
	}
}

func provider(url string) llm.Provider {
	return New(Config{Endpoint: llm.Endpoint{BaseURL: url, APIKey: "k"}})
}

// learned returns a provider that was refused summaries before.
func learned(t *testing.T, url string) llm.Provider {
	t.Helper()
	p := provider(url)
	if _, err := llm.Collect(p.Stream(context.Background(), &llm.Request{Model: model, Unary: true})); err != nil {
		t.Fatal(err)
	}
	return p
}
