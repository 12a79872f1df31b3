package llmtest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

// TestOpenAI_RefusesUnsupportedModelSettings has the refused and the accepted form of each rule.
func TestOpenAI_RefusesUnsupportedModelSettings(t *testing.T) {
	const strict, loose = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":null}]`,
		`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`
	added := func(role, tool string) string {
		return `"input":[{"role":"user","content":"x"},{"type":"additional_tools","role":"` + role + `",` + tool + `}]`
	}
	for _, tt := range []struct{ model, members, want string }{
		{"gpt-6.1-sol", `"reasoning":{"effort":"none"}`, "Unsupported value: 'none' is not supported with the 'gpt-6.1-sol' model"},
		{"gpt-6.1-sol", `"reasoning":{"effort":"minimal"}`, "Unsupported value"},
		{"gpt-6.1-sol", `"reasoning":{"effort":"low"}`, ""},
		{"gpt-6.1-sol", `"reasoning":{"effort":"max"}`, ""},
		{"gpt-6-astra", `"reasoning":{"effort":"none"}`, "Unsupported value"},
		{"gpt-6.1-terra", `"reasoning":{"effort":"none"}`, ""},
		{"gpt-6-sol", `"reasoning":{"effort":"none"}`, ""},
		{"gpt-6-luna", `"reasoning":{"effort":"none"}`, ""},
		{"gpt-6-luna", `"reasoning":{"effort":"minimal"}`, "Unsupported value"},
		{"gpt-5.5", `"reasoning":{"effort":"max"}`, "Unsupported value"},
		{"gpt-5", `"reasoning":{"effort":"minimal"}`, ""},
		{"gpt-6-sol", `"temperature":1`, "'temperature'"},
		{"gpt-6.1-terra", `"top_p":1`, "'top_p'"},
		{"gpt-6-luna-2026-08-20", `"top_logprobs":2`, "'top_logprobs'"},
		{"gpt-5.6-sol", `"temperature":1`, ""},
		{"gpt-6.1-sol", strict, ""},
		{"gpt-6.1-sol", loose, "'tools[0].strict'"},
		{"gpt-5.6-luna", loose, "'tools[0].strict'"},
		{"gpt-5.5", loose, ""},
		{"m", loose, ""},
		{"gpt-6.1-sol", `"prompt_cache_options":{"mode":"implicit","ttl":"12h"}`, ""},
		{"gpt-5.6-sol", `"prompt_cache_options":{"ttl":"30m"}`, ""},
		{"gpt-5.6-sol", `"prompt_cache_options":{"ttl":"24h"}`, "prompt_cache_options.ttl"},
		{"gpt-5.6-sol", `"prompt_cache_options":{"mode":"off"}`, "prompt_cache_options.mode"},
		{"gpt-5.5", `"prompt_cache_options":{"ttl":"30m"}`, "'prompt_cache_options' is not supported"},
		{"gpt-5.5", `"prompt_cache_retention":"24h"`, ""},
		{"gpt-5.5", `"prompt_cache_retention":"in_memory"`, "prompt_cache_retention"},
		{"gpt-5.4", `"prompt_cache_retention":"in_memory"`, ""},
		{"gpt-6-sol", `"service_tier":"flex"`, ""},
		{"gpt-6-sol", `"service_tier":"fast"`, ""},
		{"gpt-6-sol", `"service_tier":"slow"`, "service_tier"},
		{"gpt-6.1-sol", `"image":{}`, ""},
		{"gpt-6.1-sol", added("developer", strict), ""},
		{"gpt-6.1-sol", added("developer", loose), "'input[1].tools[0].strict'"},
		{"gpt-6.1-sol", added("user", strict), "input[1].role"},
		{"gpt-6.1-sol", added("developer", `"tool":[]`), "'input[1].tools'"},
	} {
		body := `{"model":"` + tt.model + `",` + tt.members + `}`
		if !strings.Contains(tt.members, `"input":[{"role"`) {
			body = `{"model":"` + tt.model + `","input":"x",` + tt.members + `}`
		}
		err := Validate(openai.Name, []byte(body))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %q", body, err, tt.want)
		}
	}
}

// openaiAsk sends a body to a server and returns the status and the answer.
func openaiAsk(t *testing.T, srv *Server, body string) (int, wire.Value) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.BaseURL("openai")+"/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, data
}

// openaiOutput returns the items that a model answers with, as JSON.
func openaiOutput(t *testing.T, model string, parts ...llm.Part) (items []string) {
	t.Helper()
	srv := NewServer(Play(Turn{Parts: parts}))
	defer srv.Close()
	status, v := openaiAsk(t, srv, `{"model":"`+model+`","input":"x"}`)
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, v)
	}
	for it := v.Get("output").Elements(); it.Next(); {
		items = append(items, string(it.Value))
	}
	return items
}

func TestOpenAI_ReasoningNeedsTheItemAfterItAndItsModel(t *testing.T) {
	const model, lonely = "gpt-6.1-sol", "of type 'reasoning' was provided without its required following item"
	out := openaiOutput(t, model, llm.Thinking{Text: "hm"}, llm.Text{Text: "look"}, llm.ToolCall{ID: "c", Name: "f", Arguments: `{"a":1}`})
	think, text, call := out[0], out[1], out[2]
	done := `{"type":"function_call_output","call_id":"c","output":"ok"}`
	user := `{"role":"user","content":"x"}`
	for name, tt := range map[string]struct {
		model string
		items []string
		want  string
	}{
		"unchanged":              {model, []string{user, think, text, call, done}, ""},
		"without reasoning":      {model, []string{user, text, call, done}, ""},
		"without ids":            {model, []string{user, strings.Replace(think, `"id":`, `"x":`, 1), text, call, done}, ""},
		"the next item is gone":  {model, []string{user, think, call, done}, lonely},
		"the next item changed":  {model, []string{user, think, strings.Replace(text, "look", "see", 1), call, done}, lonely},
		"the order changed":      {model, []string{user, think, call, done, text}, lonely},
		"nothing follows":        {model, []string{user, think}, lonely},
		"truncated":              {model, []string{user, strings.Replace(think, `","summary"`, `x","summary"`, 1), text, call, done}, "could not be verified"},
		"reasoning of another":   {"gpt-6-sol", []string{user, think, text, call, done}, "could not be verified"},
		"unknown models":         {"m", []string{user, think, call, done}, ""},
		"a made up secret":       {model, []string{user, `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}`, text, call, done}, ""},
		"a snapshot of the same": {model + "-2026-10-01", []string{user, think, text, call, done}, ""},
	} {
		err := Validate(openai.Name, []byte(`{"model":"`+tt.model+`","store":false,"input":[`+strings.Join(tt.items, ",")+`]}`))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tt.want)
		}
	}
}

func TestOpenAI_MessagesKeepTheirPhase(t *testing.T) {
	const model, user = "gpt-6.1-sol", `{"role":"user","content":"x"}`
	final := openaiOutput(t, model, llm.Text{Text: "done"})[0]
	comment := openaiOutput(t, model, llm.Text{Text: "look"}, llm.ToolCall{ID: "c", Name: "f", Arguments: `{}`})[0]
	if !strings.Contains(final, `"phase":"final_answer"`) || !strings.Contains(comment, `"phase":"commentary"`) {
		t.Errorf("got %s and %s, want the phases final_answer and commentary", final, comment)
	}
	if old := openaiOutput(t, "gpt-5.2", llm.Text{Text: "done"})[0]; strings.Contains(old, "phase") {
		t.Errorf("gpt-5.2: got %s, want no phase", old)
	}
	without := func(item string) string { return strings.Replace(item, `"phase":`, `"status2":`, 1) }
	anonymous := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`
	for name, tt := range map[string]struct {
		item, want string
		need       bool
	}{
		"final answer":                     {final, "", false},
		"commentary":                       {comment, "", true},
		"final answer without a phase":     {without(final), "'input[1].phase'", false},
		"commentary without a phase":       {without(comment), "'input[1].phase'", false},
		"commentary as the final answer":   {strings.Replace(comment, "commentary", "final_answer", 1), "'input[1].phase'", false},
		"a message of unknown origin":      {anonymous, "", false},
		"the same where a phase is needed": {anonymous, "'input[1].phase'", true},
	} {
		srv := StartServer(ServerConfig{Script: Play(Say("ok")), NeedPhase: tt.need})
		status, v := openaiAsk(t, srv, `{"model":"`+model+`","input":[`+user+`,`+tt.item+`,`+user+`]}`)
		srv.Close()
		if (status == http.StatusOK) != (tt.want == "") || !strings.Contains(v.Get("error", "message").Str(), tt.want) {
			t.Errorf("%s: got %d %s, want %q", name, status, v, tt.want)
		}
	}
}

func TestOpenAI_TheInputHasALimit(t *testing.T) {
	body := func(model string, words int) []byte {
		return []byte(`{"model":"` + model + `","input":"` + strings.Repeat("word", words) + `"}`)
	}
	for _, tt := range []struct {
		model   string
		words   int
		refused bool
	}{
		{"gpt-5.2", 271_900, false}, {"gpt-5.2", 272_000, true}, {"gpt-6.1-sol", 921_900, false}, {"gpt-6.1-sol", 922_000, true}, {"m", 922_000, false},
	} {
		err := Validate(openai.Name, body(tt.model, tt.words))
		if (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), "exceeds the context window") {
			t.Errorf("%s with %d words: got error %v, want a refusal: %t", tt.model, tt.words, err, tt.refused)
		}
	}
}
