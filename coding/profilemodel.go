package coding

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// describe fills in what is known of the model. Of a model that the catalogue does not list the
// usual is assumed: that one of the three vendors thinks and sees, and that others do not.
func (p *Profile) describe(catalogue *llm.Catalogue) {
	m, listed := lookup(catalogue, p.Provider, p.Model)
	if !listed {
		vendor := p.Family != GenericFamily && string(p.Family) == p.Provider
		m = llm.Model{Name: p.Model, Reasoning: vendor, Vision: vendor}
	}
	p.DisplayName, p.Cutoff = m.Name, m.Cutoff
	if p.DisplayName == "" {
		p.DisplayName = p.Model
	}
	p.Reasoning, p.Vision = m.Reasoning, m.Vision
	// Freeform tools are a matter of the server as well as of the model.
	p.Freeform = m.Freeform && m.Provider == p.Provider
	if p.ContextWindow = m.ContextWindow; p.ContextWindow == 0 {
		p.ContextWindow = p.Family.window()
	}
}

// lookup finds a model as this provider serves it, or else as another one does.
func lookup(c *llm.Catalogue, provider, model string) (llm.Model, bool) {
	if m, ok := c.Lookup(provider, model); ok {
		return m, true
	}
	for _, name := range []string{model, path.Base(model), strings.ToLower(path.Base(model))} {
		if m, ok := c.Lookup("", name); ok {
			return m, true
		}
	}
	return llm.Model{}, false
}

// window is the context window that is assumed for a model that is not listed.
func (f Family) window() int64 {
	switch f {
	case AnthropicFamily:
		return 200_000
	case GeminiFamily:
		return 1_048_576
	}
	return 131_072
}

// options are the provider options of the profile. The effort is not among them: the session sets
// it with each request, and the dialects turn it into their own terms. Neither are Anthropic's
// cache breakpoints, which its dialect places by itself.
func (p *Profile) options(catalogue *llm.Catalogue) map[string]llm.Options {
	m, _ := catalogue.Lookup(p.Provider, p.Model)
	switch {
	case p.Provider == "openai" && m.Freeform && !strings.Contains(m.ID, "codex") && !strings.Contains(m.ID, "-pro"):
		// Models of this generation write at length unless told otherwise. The excepted ones take
		// no verbosity but their own.
		return map[string]llm.Options{"openai-responses": {Body: body("text", `{"verbosity":"low"}`)}}
	case p.Provider == "anthropic" && m.Thinking == "budget":
		// Lets the model think between tool calls; the adaptive models do so by themselves.
		return map[string]llm.Options{"anthropic": {Betas: []string{"interleaved-thinking-2025-05-14"}}}
	case p.Provider == "gemini":
		return map[string]llm.Options{"gemini": {Body: body("safetySettings", safetySettings)}}
	}
	return nil
}

// safetySettings block only what is harmful with high probability, whatever the model's default
// is: code and logs about attacks, drugs or violence are the daily matter of many projects.
const safetySettings = `[` +
	`{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_ONLY_HIGH"},` +
	`{"category":"HARM_CATEGORY_HATE_SPEECH","threshold":"BLOCK_ONLY_HIGH"},` +
	`{"category":"HARM_CATEGORY_SEXUALLY_EXPLICIT","threshold":"BLOCK_ONLY_HIGH"},` +
	`{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","threshold":"BLOCK_ONLY_HIGH"}]`

func body(name, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(value)}
}
