package feature

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy/rules"
)

// searches has, for each provider, an answer in which the provider has searched the web, as its documentation
// describes the stream; what the request must have; and what the next one must send back.
var searches = map[string]struct {
	model, tool string
	stream      []string
	back        []string
}{
	"openai": {"gpt-5.2", `{"type":"web_search"}`, []string{
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5.2","output":[]}}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`,
		`{"type":"response.web_search_call.in_progress","sequence_number":2,"output_index":0,"item_id":"ws_1"}`,
		`{"type":"response.web_search_call.searching","sequence_number":3,"output_index":0,"item_id":"ws_1"}`,
		`{"type":"response.web_search_call.completed","sequence_number":4,"output_index":0,"item_id":"ws_1"}`,
		`{"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go release"}}}`,
		`{"type":"response.output_item.added","sequence_number":6,"output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`,
		`{"type":"response.content_part.added","sequence_number":7,"item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":8,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Go 1.30."}`,
		`{"type":"response.output_text.annotation.added","sequence_number":9,"item_id":"msg_1","output_index":1,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","start_index":0,"end_index":7,"url":"https://go.dev/","title":"Go"}}`,
		`{"type":"response.output_text.done","sequence_number":10,"item_id":"msg_1","output_index":1,"content_index":0,"text":"Go 1.30."}`,
		`{"type":"response.output_item.done","sequence_number":11,"output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Go 1.30.","annotations":[{"type":"url_citation","start_index":0,"end_index":7,"url":"https://go.dev/","title":"Go"}]}]}}`,
		`{"type":"response.completed","sequence_number":12,"response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[],"usage":{"input_tokens":9,"output_tokens":5,"total_tokens":14}}}`,
	}, []string{`"type":"web_search_call"`, `"action":{"type":"search","query":"go release"}`}},
	"anthropic": {"claude-opus-5", `{"type":"web_search_20250305","name":"web_search","max_uses":8`, []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"go release\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://go.dev/","title":"Go","encrypted_content":"ZW5j","page_age":"1 day"}]}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://go.dev/","title":"Go","encrypted_index":"aWR4","cited_text":"1.30"}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Go 1.30."}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":9,"output_tokens":5,"server_tool_use":{"web_search_requests":1}}}`,
		`{"type":"message_stop"}`,
	}, []string{`"type":"server_tool_use"`, `"query":"go release"`, `"encrypted_content":"ZW5j"`, `"encrypted_index":"aWR4"`}},
	"gemini": {"gemini-3.8-flash", `{"googleSearch":{}}`, []string{
		`{"candidates":[{"content":{"role":"model","parts":[{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["go release"]},"id":"t1"},"thoughtSignature":"c2lnMQ=="}]},"index":0}],"modelVersion":"gemini-3.8-flash"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"search_suggestions":"<div>"},"id":"t1"},"thoughtSignature":"c2lnMg=="}]},"index":0}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"Go 1.30."}]},"index":0}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"","thoughtSignature":"c2lnMw=="}]},"finishReason":"STOP","index":0,"groundingMetadata":{"webSearchQueries":["go release"],"groundingChunks":[{"web":{"uri":"https://go.dev/","title":"go.dev"}}],"groundingSupports":[{"segment":{"endIndex":8,"text":"Go 1.30."},"groundingChunkIndices":[0]}]}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":5,"toolUsePromptTokenCount":3,"totalTokenCount":17}}`,
	}, []string{`"toolCall":{"toolType":"GOOGLE_SEARCH_WEB"`, `"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB"`, `"c2lnMg=="`}},
}

func TestHostedSearch_AnswersAreReadAndSentBack(t *testing.T) {
	for provider, c := range searches {
		t.Run(provider, func(t *testing.T) {
			var bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost { // a question about the model
					http.NotFound(w, r)
					return
				}
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				bodies = append(bodies, string(b))
				w.Header().Set("Content-Type", "text/event-stream")
				for _, event := range c.stream {
					_, kind, _ := strings.Cut(event, `{"type":"`)
					kind, _, _ = strings.Cut(kind, `"`)
					_, _ = io.WriteString(w, "event: "+kind+"\ndata: "+event+"\n\n")
				}
			}))
			defer server.Close()
			key := strings.ToUpper(provider)
			t.Setenv(key+"_API_KEY", "k")
			t.Setenv(key+"_BASE_URL", server.URL)
			s, err := coding.Open(t.Context(), coding.Config{Provider: provider, Model: c.model, Dir: t.TempDir(), State: t.TempDir(), Extensions: with(HostedSearch())})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 2 {
				out, err := s.Submit(t.Context(), llm.Text{Text: "Which Go is the newest?"})
				if err != nil || out.Text != "Go 1.30." || out.Usage.Searches != 1 || out.Cost.Dollars < 0.01 {
					t.Fatalf("got %+v, %v, want one search at its price", out, err)
				}
			}
			if !strings.Contains(bodies[0], c.tool) || provider == "gemini" && !strings.Contains(bodies[0], `"includeServerSideToolInvocations":true`) {
				t.Errorf("the request has no %s: %s", c.tool, bodies[0])
			}
			for _, want := range c.back {
				if strings.Contains(bodies[0], want) || !strings.Contains(bodies[1], want) {
					t.Errorf("%s is not sent back:\n%s", want, bodies[1])
				}
			}
		})
	}
}

func TestHostedSearch_IsOfferedOnlyWhereItWorksAndIsAllowed(t *testing.T) {
	rule := func(text string) rules.Rule {
		r, err := rules.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, c := range map[string]struct {
		provider, model string
		off             bool
		session         agent.Config
		want            bool
		warns           string
	}{
		"openai":         {"openai", "gpt-5.2", false, agent.Config{}, true, ""},
		"not configured": {"openai", "gpt-5.2", true, agent.Config{}, false, ""},
		"older Gemini":   {"gemini", "gemini-2.5-pro", false, agent.Config{}, false, "no web search that works with other tools"},
		"other provider": {"chat", "gpt-oss-120b", false, agent.Config{}, false, "no web search"},
		"default mode":   {"anthropic", "claude-opus-5", false, agent.Config{Policy: rules.Policy{}}, true, ""},
		"denied":         {"anthropic", "claude-opus-5", false, agent.Config{Policy: rules.Policy{Deny: []rules.Rule{rule("WebSearch")}}}, false, "is not used"},
		"asked":          {"anthropic", "claude-opus-5", false, agent.Config{Policy: rules.Policy{Ask: []rules.Rule{rule("WebSearch")}}}, false, "is not used"},
		"left out":       {"anthropic", "claude-opus-5", false, agent.Config{Deny: []string{"web_search"}}, false, ""},
	} {
		g := newOpenRig(t)
		var warned string
		extensions := with(HostedSearch())
		if c.off {
			extensions = nil
		}
		r := g.ask(g.open(coding.Config{Provider: c.provider, Model: c.model, Extensions: extensions, Session: c.session, Warn: func(err error) { warned += err.Error() }}))
		got := false
		for _, d := range r.Tools {
			got = got || d.Hosted.Dialect != ""
		}
		if got != c.want || !strings.Contains(warned, c.warns) || c.warns == "" && warned != "" {
			t.Errorf("%s: offered is %v, want %v, with warning %q", name, got, c.want, warned)
		}
	}
}
