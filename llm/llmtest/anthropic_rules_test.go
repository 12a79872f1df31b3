package llmtest

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestClaude_RefusesUnsupportedModelSettings has the refused and the accepted form of each rule.
func TestClaude_RefusesUnsupportedModelSettings(t *testing.T) {
	const (
		user   = `{"role":"user","content":"hi"}`
		answer = `{"role":"assistant","content":"ho"}`
		late   = `{"role":"system","content":"be quick"}`
		png    = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
		tools  = `"tools":[` + claudeTool + `]`
		inline = "inline-tools-2026-09-15"
	)
	result := func(rest string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a",` + rest + `}]}`
	}
	changes := func(blocks ...string) string {
		return `{"role":"system","content":[` + strings.Join(blocks, ",") + `]}`
	}
	add := func(tool string) string { return `{"type":"tool_addition","tool":` + tool + `}` }
	remove := func(name string) string {
		return `{"type":"tool_removal","tool":{"type":"tool_reference","name":"` + name + `"}}`
	}
	define := `{"type":"tool_definition","definition":` + otherTool + `}`
	refer := func(name string) string { return `{"type":"tool_reference","name":"` + name + `"}` }
	for _, tt := range []struct {
		model, extra, betas string
		messages            string
		want                string // "" means that the request is accepted
	}{
		// types of thinking
		{"opus-5-5", `"thinking":{"type":"adaptive"}`, "", user, ""},
		{"opus-5-5", `"thinking":{"type":"disabled"}`, "", user, `"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort"`},
		{"opus-5-5", `"thinking":{"type":"enabled","budget_tokens":2000}`, "", user, `"thinking.type.enabled" is not supported`},
		{"opus-5-5", `"thinking":{"type":"between_tools"}`, "", user, `"thinking.type.between_tools" is not supported`},
		{"opus-5-5", `"thinking":{"type":"sometimes"}`, "", user, "expected tags"},
		{"opus-5-5", `"thinking":{"type":"adaptive","budget_tokens":2000}`, "", user, "budget_tokens"},
		{"opus-5-5", `"thinking":{"type":"adaptive","display":"loud"}`, "", user, "thinking.display"},
		{"fable-5-2", `"thinking":{"type":"disabled"}`, "", user, "not supported"},
		{"fable-5-1", `"thinking":{"type":"disabled"}`, "", user, "not supported"},
		{"sonnet-5-5", `"thinking":{"type":"disabled"}`, "", user, "not supported"},
		{"haiku-5-5", `"thinking":{"type":"disabled"}`, "", user, ""},
		{"haiku-5-5", `"thinking":{"type":"between_tools"}`, "", user, "not supported"},
		{"haiku-5-5", `"thinking":{"type":"enabled","budget_tokens":2000}`, "", user, "not supported"},
		{"sonnet-5", `"thinking":{"type":"disabled"}`, "", user, ""},
		{"sonnet-5", `"thinking":{"type":"enabled","budget_tokens":2000}`, "", user, "not supported"},
		{"opus-5", `"thinking":{"type":"disabled"},"output_config":{"effort":"high"}`, "", user, ""},
		{"opus-5", `"thinking":{"type":"disabled"},"output_config":{"effort":"xhigh"}`, "", user, "does not support output_config.effort"},
		{"opus-4-7", `"thinking":{"type":"enabled","budget_tokens":2000}`, "", user, "not supported"},
		{"opus-4-6", `"thinking":{"type":"enabled","budget_tokens":2000}`, "", user, ""},
		{"sonnet-4-5", `"thinking":{"type":"enabled","budget_tokens":2000}`, "", user, ""},
		{"sonnet-4-5", `"thinking":{"type":"adaptive"}`, "", user, `"thinking.type.adaptive" is not supported for this model. Use "thinking.type.enabled"`},
		// thinking between tools
		{"sonnet-5-5", `"thinking":{"type":"between_tools"}`, "", user, ""},
		{"sonnet-5-5", `"thinking":{"type":"between_tools"},"output_config":{"effort":"low"}`, "", user, ""},
		{"sonnet-5-5", `"thinking":{"type":"between_tools"},"output_config":{"effort":"xhigh"}`, "", user, "low, medium or high"},
		{"sonnet-5-5", `"thinking":{"type":"between_tools"},"output_config":{"effort":"max"}`, "", user, "low, medium or high"},
		{"sonnet-5-5", `"thinking":{"type":"between_tools","display":"summarized"}`, "", user, "display"},
		// the binding of thinking
		{"opus-5-5", strings.TrimSuffix(dropping, ","), bindingBeta, user, ""},
		{"opus-5-5", strings.TrimSuffix(dropping, ","), "", user, bindingBeta},
		{"opus-5-5", `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"ignore"}}`, bindingBeta, user, "'error' or 'drop_block'"},
		{"haiku-5-5", `"thinking":{"type":"disabled","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, bindingBeta, user, "block_binding"},
		{"sonnet-5-5", `"thinking":{"type":"between_tools","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, bindingBeta, user, "block_binding"},
		{"opus-5-5", `"thinking":{"type":"adaptive","display":"updates"}`, "", user, "thinking-display-updates-2026-08-18"},
		{"opus-5-5", `"thinking":{"type":"adaptive","display":"updates"}`, "a, thinking-display-updates-2026-08-18", user, ""},
		// efforts
		{"opus-5-5", `"output_config":{"effort":"max"}`, "", user, ""},
		{"opus-5-5", `"output_config":{"effort":"none"}`, "", user, "Supported levels: low medium high xhigh max"},
		{"opus-4-6", `"output_config":{"effort":"xhigh"}`, "", user, "not supported"},
		{"opus-4-6", `"output_config":{"effort":"max"}`, "", user, ""},
		{"opus-4-7", `"output_config":{"effort":"xhigh"}`, "", user, ""},
		{"opus-4-5", `"output_config":{"effort":"high"}`, "", user, ""},
		{"opus-4-5", `"output_config":{"effort":"max"}`, "", user, "not supported"},
		{"haiku-4-5", `"output_config":{"effort":"low"}`, "", user, "does not support the effort"},
		// forced tools
		{"fable-5-2", tools + `,"tool_choice":{"type":"any"}`, "", user, "not supported"},
		{"fable-5-1", tools + `,"tool_choice":{"type":"any"}`, "", user, "not supported"},
		{"opus-5-5", tools + `,"tool_choice":{"type":"tool","name":"f"}`, "", user, "not supported"},
		{"opus-5-5", tools + `,"tool_choice":{"type":"none"}`, "", user, ""},
		{"sonnet-5-5", tools + `,"tool_choice":{"type":"any"}`, "", user, "not supported"},
		{"haiku-5-5", tools + `,"tool_choice":{"type":"any"}`, "", user, ""},
		{"opus-5", tools + `,"tool_choice":{"type":"any"}`, "", user, "Thinking may not be enabled"},
		{"opus-5", tools + `,"tool_choice":{"type":"any"},"thinking":{"type":"disabled"}`, "", user, ""},
		{"opus-4-8", tools + `,"tool_choice":{"type":"any"}`, "", user, ""},
		{"opus-4-8", tools + `,"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"}`, "", user, "Thinking may not be enabled"},
		// sampling
		{"opus-5-5", `"temperature":1`, "", user, "`temperature` is not supported"},
		{"haiku-5-5", `"top_p":0.99`, "", user, "`top_p` is not supported"},
		{"fable-5-2", `"top_k":5`, "", user, "`top_k` is not supported"},
		{"opus-5", `"temperature":0.5`, "", user, "`temperature` is not supported"},
		{"opus-5", `"temperature":1`, "", user, ""},
		{"opus-4-7", `"top_k":5`, "", user, "`top_k` is not supported"},
		{"opus-4-6", `"temperature":0.5`, "", user, ""},
		{"opus-4-6", `"temperature":0.5,"thinking":{"type":"adaptive"}`, "", user, "temperature"},
		{"sonnet-4-5", `"temperature":0.5`, "", user, ""},
		{"sonnet-4-5", `"temperature":0.5,"top_p":0.9`, "", user, "cannot both"},
		// prefill
		{"opus-5-5", "", "", user + "," + answer, "prefill"},
		{"haiku-5-5", "", "", user + "," + answer, "prefill"},
		{"opus-5-5", strings.TrimSuffix(summarize, ","), "compact-2026-09-04", user + "," + answer, ""},
		{"fable-5-2", "", "", user + "," + answer, "prefill"},
		{"opus-4-6", "", "", user + "," + answer, "prefill"},
		{"sonnet-4-5", "", "", user + "," + answer, ""},
		{"opus-5-5", "", "", user + `,{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}`, ""},
		// error results
		{"opus-5-5", tools, "", user + "," + call + "," + result(`"is_error":true,"content":[`+png+`]`), "is_error"},
		{"opus-5-5", tools, "", user + "," + call + "," + result(`"content":[`+png+`]`), ""},
		{"opus-5-5", tools, "", user + "," + call + "," + result(`"is_error":true,"content":"no"`), ""},
		// system messages in the conversation
		{"opus-5-5", "", "", user + "," + late, ""},
		{"opus-5-5", "", "", user + "," + late + "," + answer + "," + user, ""},
		{"opus-5-5", "", "", user + "," + late + "," + user, "directly before a user message"},
		{"opus-5-5", "", "", user + "," + answer + "," + late, "must follow a user message"},
		{"opus-5-5", "", "", late + "," + user, "must follow a user message"},
		{"sonnet-5", "", "", user + "," + late, "role 'system' is not supported"},
		{"opus-4-6", "", "", user + "," + late, "role 'system' is not supported"},
		{"opus-5-5", "", "", user + `,{"role":"system","content":"x","clear_at":"next_user_message"}`, "mid-conversation-system-clear-at-2026-08-21"},
		{"opus-5-5", "", "mid-conversation-system-clear-at-2026-08-21", user + `,{"role":"system","content":"x","clear_at":"next_user_message"}`, ""},
		{"opus-5-5", "", "mid-conversation-system-clear-at-2026-08-21", user + `,{"role":"system","content":"x","clear_at":"soon"}`, "clear_at"},
		{"opus-5-5", "", "", `{"role":"user","content":"x","clear_at":"never"}`, "clear_at"},
		{"opus-5-5", "", "", user + `,{"role":"system","content":"x","output_config":{"effort":"low"}}`, "mid-conversation-output-config-2026-07-01"},
		// changes of tools
		{"opus-5-5", tools, inline, user + "," + changes(add(define)), ""},
		{"opus-5-5", tools, "", user + "," + changes(add(define)), inline},
		{"opus-5-5", tools, "mid-conversation-tool-changes-2026-07-01", user + "," + changes(remove("f")), ""},
		{"opus-5-5", tools, inline, user + "," + changes(add(define), remove("g"), add(refer("g"))), ""},
		{"opus-5-5", tools, inline, user + "," + changes(remove("f"), add(`{"type":"tool_definition","definition":`+claudeTool+`}`)), ""},
		{"opus-5-5", tools, inline, user + "," + changes(add(`{"type":"tool_definition","definition":`+claudeTool+`}`)), "already available"},
		{"opus-5-5", tools, inline, user + "," + changes(add(refer("f"))), "already available"},
		{"opus-5-5", tools, inline, user + "," + changes(add(refer("g"))), "not defined"},
		{"opus-5-5", tools, inline, user + "," + changes(remove("g")), "not defined"},
		{"opus-5-5", tools, inline, user + "," + changes(remove("f"), remove("f")), "not available"},
		{"opus-5-5", tools, inline, user + "," + changes(add(claudeTool)), "expected tags"},
		{"opus-5-5", tools, inline, user + "," + changes(add(`{"type":"tool_definition","definition":{"name":"g"}}`)), "input_schema"},
		{"opus-5-5", tools, inline, `{"role":"user","content":[` + remove("f") + `]}`, "not allowed in user messages"},
		{"opus-4-7", tools, inline, user + "," + changes(remove("f")), "not supported"},
		{"opus-5-5", `"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true}]`, "", user, "defer_loading"},
		{"opus-5-5", `"tools":[` + claudeTool + `,{"name":"g","input_schema":{"type":"object"},"defer_loading":true}]`, inline, user + "," + changes(add(refer("g"))), ""},
		// compaction
		{"opus-5-5", strings.TrimSuffix(summarize, ","), "", user, "compact-2026-09-04"},
		{"opus-5-5", strings.TrimSuffix(summarize, ","), "compact-2026-09-04", user, ""},
		{"opus-5-5", `"compaction":{"type":"forget"}`, "compact-2026-09-04", user, "'summarize'"},
		{"opus-5-5", summarize + `"context_management":{"edits":[]}`, "compact-2026-09-04", user, "context_management"},
		{"opus-5-5", summarize + tools, "compact-2026-09-04", user + "," + call, "without `tool_result`"},
		{"haiku-4-5", strings.TrimSuffix(summarize, ","), "compact-2026-09-04", user, "not supported"},
		// other members
		{"opus-5-5", `"thread":{"type":"create"}`, "message-threads-2026-08-12", user, ""},
		{"opus-5-5", `"thread":{"type":"create"}`, "", user, "message-threads-2026-08-12"},
		{"opus-5-5", `"speed":"standard","service_tier":"auto","cache_control":{"type":"ephemeral","ttl":"1h"}`, "", user, ""},
		{"opus-5-5", `"speed":"fast"`, "", user, "fast-mode-2026-02-01"},
		{"opus-5-5", `"service_tier":"priority"`, "", user, "service_tier"},
		{"opus-5-5", `"fallbacks":"default"`, "", user, "server-side-fallback-2026-07-01"},
	} {
		extra := tt.extra
		if extra != "" {
			extra += ","
		}
		body := `{"model":"claude-` + tt.model + `","max_tokens":5000,` + extra + `"messages":[` + tt.messages + `]}`
		r := httptest.NewRequest("POST", "/v1/messages", nil)
		r.Header.Set("Anthropic-Version", "2023-06-01")
		if tt.betas != "" {
			r.Header.Set("Anthropic-Beta", tt.betas)
		}
		err := anthropicProtocol{}.validate(r, []byte(body))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %q", body, err, tt.want)
		}
	}
}

func TestClaude_TheNewAPIVersionHasNoSampling(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1/messages", nil)
	body := `{"model":"claude-opus-4-6","max_tokens":5000,"temperature":0.5,"messages":[{"role":"user","content":"hi"}]}`
	for version, want := range map[string]string{"2023-06-01": "", "2026-10-21": "`temperature` is not supported"} {
		r.Header.Set("Anthropic-Version", version)
		err := anthropicProtocol{}.validate(r, []byte(body))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", version, err, want)
		}
	}
}

func TestClaude_BedrockHasBetasInTheBody(t *testing.T) {
	r := httptest.NewRequest("POST", "/model/us.anthropic.claude-opus-5-5/invoke", nil)
	for betas, want := range map[string]string{`[]`: bindingBeta, `["` + bindingBeta + `"]`: ""} {
		body := `{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":` + betas + `,"max_tokens":5,` + dropping + `"messages":[{"role":"user","content":"hi"}]}`
		err := bedrockClaude.validate(r, []byte(body))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", body, err, want)
		}
	}
}
