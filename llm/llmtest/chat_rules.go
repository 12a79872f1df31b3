package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// chatModel checks what depends on the model.
func chatModel(v wire.Value) error {
	model := v.Get("model").Str()
	ofOpenAI, other := openaiRulesOf(model), chatRulesOf(model)
	switch {
	case ofOpenAI == nil && other == nil:
		return nil
	case v.Get("cache_control").Exists():
		return errors.New("unrecognized request argument supplied: cache_control")
	case ofOpenAI != nil:
		return ofOpenAI.chat(v)
	}
	return other.check(v)
}

// chat checks a request to a model of OpenAI.
func (r *openaiRules) chat(v wire.Value) error {
	effort := v.Get("reasoning_effort")
	if effort.Exists() && !lists(r.efforts, effort.Str()) {
		return apiErrorf("Unsupported value: 'reasoning_effort' does not support '%s' with this model. Supported values are: %s.",
			effort.Str(), r.efforts)
	}
	if r.sampling == always {
		for _, name := range []string{"temperature", "top_p", "logprobs", "top_logprobs"} {
			if v.Get(name).Exists() {
				return apiErrorf("Unsupported parameter: '%s' is not supported with this model.", name)
			}
		}
	}
	if v.Get("tools").Exists() && (r.chatTools == always || r.chatTools == thinking && !effort.Is("none")) {
		return apiErrorf("Function tools with reasoning are not supported for %s in /v1/chat/completions. "+
			"Please use /v1/responses instead.", r.name)
	}
	return r.cache(v)
}

// check checks a request to a model of another vendor.
func (r *chatRules) check(v wire.Value) error {
	if e := v.Get("reasoning_effort"); e.Exists() && !lists(r.efforts, e.Str()) {
		return fmt.Errorf("invalid reasoning_effort %q%s; supported values are: %s", e.Str(), r.hint, r.efforts)
	}
	if t := v.Get("thinking"); t.Exists() && !lists(r.thinking, t.Get("type").Str()) {
		return fmt.Errorf("invalid thinking.type %q%s; supported values are: %s", t.Get("type").Str(), r.hint, r.thinking)
	}
	if v.Get("enable_thinking").Exists() && !r.switches {
		return errors.New("unrecognized request argument supplied: enable_thinking")
	}
	if t := v.Get("temperature"); t.Exists() && r.hot && t.Float() != 1 {
		return errors.New("invalid temperature: only 1 is allowed for this model")
	}
	if !r.echo || v.Get("thinking", "type").Is("disabled") {
		return nil
	}
	n := 0
	for it := v.Get("messages").Elements(); it.Next(); n++ {
		m := it.Value
		thought := m.Get("reasoning_content").Kind() == '"' || m.Get("reasoning_details").Kind() == '['
		if m.Get("tool_calls").Exists() && !thought {
			return apiErrorf("The reasoning_content in the thinking mode must be passed back to the API: thinking is enabled but reasoning_content "+
				"is missing in assistant tool call message at index %d.", n)
		}
	}
	return nil
}

// examine checks the input length and looks for cache_control in requests to OpenRouter's Claude models.
func (chatProtocol) examine(c ServerConfig, _ *http.Request, body []byte) (findings, error) {
	v := wire.Value(body)
	model, limit := v.Get("model").Str(), int64(0)
	if rules := openaiRulesOf(model); rules != nil {
		limit = rules.input
	}
	found := findings{cached: strings.HasPrefix(model, "anthropic/claude-") && chatCached(v)}
	return found, tooLong(c, limit, body, "Input tokens exceed the configured limit: your messages resulted in %d tokens, the limit is %d.")
}

// chatCached reports whether a request has cache_control, on top or in a message part.
func chatCached(v wire.Value) bool {
	if v.Get("cache_control", "type").Is("ephemeral") {
		return true
	}
	for it := v.Get("messages").Elements(); it.Next(); {
		for p := it.Value.Get("content").Elements(); p.Next(); {
			if p.Value.Get("cache_control", "type").Is("ephemeral") {
				return true
			}
		}
	}
	return false
}
