package gemini

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Encode writes what stays the same over a conversation first and the contents last.
func (d dialect) Encode(r *llm.Request) (*llm.Call, error) {
	m := d.model(r.Model)
	if r.ThinkingBudget == nil && r.Effort != "" && !m.usesLevels() && !slices.Contains(effortWords, r.Effort) {
		return nil, llm.EffortError(r.Model, r.Effort, effortWords)
	}
	if err := check(r, m); err != nil {
		return nil, err
	}
	h := head(r, m)
	call := &llm.Call{
		Path:   m.path("streamGenerateContent"),
		Query:  "alt=sse",
		Header: http.Header{},
		Stream: true,
	}
	if r.Unary {
		call.Path = m.path("generateContent")
		call.Query = ""
		call.Stream = false
	}
	for k, v := range r.Options[Name].Header {
		call.Header.Set(k, v)
	}
	if _, replaced := r.Options[Name].Body["contents"]; replaced {
		call.Body = llm.Body{append(h, '}')}
		return call, nil
	}
	contents, tail, err := encodeContents(r, m)
	if err != nil {
		return nil, err
	}
	call.Body = llm.Body{h, contents, tail}
	return call, nil
}

// tiers lists the API's service tiers.
var tiers = []string{"flex", "standard", "priority"}

// check returns an error if the caller set something that the model or the protocol refuses.
func check(r *llm.Request, m model) error {
	refuse := func(format string, args ...any) error { return llm.Errorf(llm.ErrConfiguration, "", format, args...) }
	switch {
	case r.Tier != "" && !slices.Contains(tiers, r.Tier):
		return refuse("Gemini has no service tier %q; use flex, standard or priority", r.Tier)
	case r.CacheTTL != "" && !slices.Contains(m.info.Rules.CacheTTLs, r.CacheTTL):
		return refuse("%s has no cache lifetime %q, because Gemini caches by itself; leave it unset", r.Model, r.CacheTTL)
	case r.Compact != "":
		return refuse("Gemini does not compact conversations; summarize them with a request instead")
	}
	return wire.CheckSettings(r, m.info, m.thinks(r))
}

// encodeContents returns the contents without their opening bracket, and the rest of the body.
func encodeContents(r *llm.Request, m model) (contents, tail []byte, err error) {
	r.Cache.Encoder(Name, func() any { return new(contentEncoder) }, func(encoder any) {
		e := encoder.(*contentEncoder)
		err = e.encode(m, r.Messages)
		contents, tail = e.body()
	})
	return contents, tail, err
}

// head writes the body up to the opening bracket before the contents.
func head(r *llm.Request, m model) []byte {
	h := wire.Head{Options: maps.Clone(r.Options[Name].Body)}
	h.Open('{')
	if r.Tier != "" && h.Set("serviceTier") {
		h.Str(r.Tier)
	}
	merge(&h, "generationConfig", func(sub *wire.Head) { generationConfig(sub, r, m) })
	// Models before Gemini 3 refuse JSON output together with functions, even if these must not be called.
	if r.Output == nil || r.ToolChoice.Mode != llm.ToolNone || m.version >= 3 {
		merge(&h, "toolConfig", func(sub *wire.Head) { toolConfig(sub, r) })
		if len(r.Tools) > 0 {
			tools(&h, r.Tools)
		}
	}
	systemInstruction(&h, r.Messages)
	h.Extra()
	if h.Set("contents") {
		h.Open('[')
	}
	return h.Buf
}

// merge writes an object. The option with the same name replaces its members one by one.
func merge(h *wire.Head, name string, write func(*wire.Head)) {
	option, given := h.Options[name]
	v, _ := wire.ParseJSON(option)
	if given && v.Kind() != '{' {
		return
	}
	sub := wire.Head{Options: make(map[string]json.RawMessage)}
	for it := v.Members(); it.Next(); {
		sub.Options[string(it.Key)] = json.RawMessage(it.Value)
	}
	sub.Open('{')
	write(&sub)
	sub.Extra()
	sub.Close('}')
	delete(h.Options, name)
	if given || len(sub.Buf) > len("{}") {
		h.Key(name)
		h.Raw(sub.Buf)
	}
}

func generationConfig(h *wire.Head, r *llm.Request, m model) {
	if limit := maxTokens(r, m); limit > 0 && h.Set("maxOutputTokens") {
		h.Int(limit)
	}
	if r.Temperature != nil && h.Set("temperature") {
		h.Float(*r.Temperature)
	}
	if r.TopP != nil && h.Set("topP") {
		h.Float(*r.TopP)
	}
	if r.TopK != nil && h.Set("topK") {
		h.Int(int64(*r.TopK))
	}
	if len(r.Stop) > 0 && h.Set("stopSequences") {
		h.Open('[')
		for _, s := range r.Stop {
			h.Str(s)
		}
		h.Close(']')
	}
	if (r.Effort != "" || r.ThinkingBudget != nil || showsThoughts(r, m)) && h.Set("thinkingConfig") {
		thinkingConfig(h, r, m)
	}
	if r.Output != nil {
		if h.Set("responseMimeType") {
			h.Str("application/json")
		}
		if v, err := wire.ParseJSON(r.Output.Schema); err == nil && h.Set("responseJsonSchema") {
			h.Raw(v)
		}
	}
}

// maxTokens returns the output limit, 0 for the model's own. Whole answers may have a lower limit than streams.
func maxTokens(r *llm.Request, m model) int64 {
	limit := int64(r.MaxTokens)
	if most := m.info.Rules.MaxUnary; r.Unary && most > 0 {
		limit = min(limit, most)
	}
	return limit
}

// showsThoughts reports whether thoughts are requested even if nothing else about thinking is. Models that might not
// think refuse that.
func showsThoughts(r *llm.Request, m model) bool {
	return r.Display != "omitted" && (m.info.Thinking == "level" || m.info.Rules.Thinks)
}

// thinkingConfig requests thinking, and that thoughts are returned.
func thinkingConfig(h *wire.Head, r *llm.Request, m model) {
	thoughts := r.Effort != "none"
	h.Open('{')
	switch {
	case r.ThinkingBudget != nil:
		thoughts = *r.ThinkingBudget != 0
		h.Key("thinkingBudget")
		h.Int(int64(*r.ThinkingBudget))
	case r.Effort == "":
	case m.usesLevels():
		h.Field("thinkingLevel", m.level(r.Effort))
	default:
		h.Key("thinkingBudget")
		h.Int(int64(m.budget(r.Effort)))
	}
	if thoughts && r.Display != "omitted" {
		h.Key("includeThoughts")
		h.Bool(true)
	}
	h.Close('}')
}

// toolConfig writes which functions may be called. Without functions the API refuses it.
func toolConfig(h *wire.Head, r *llm.Request) {
	mode := map[llm.ToolMode]string{llm.ToolAuto: "AUTO", llm.ToolNone: "NONE", llm.ToolRequired: "ANY", llm.ToolNamed: "ANY"}[r.ToolChoice.Mode]
	if mode == "" || !hasFunctions(r.Tools) || !h.Set("functionCallingConfig") {
		return
	}
	h.Open('{')
	h.Field("mode", mode)
	if r.ToolChoice.Mode == llm.ToolNamed {
		h.Key("allowedFunctionNames")
		h.Open('[')
		h.Str(r.ToolChoice.Name)
		h.Close(']')
	}
	h.Close('}')
}

func hasFunctions(tools []llm.ToolDef) bool {
	return slices.ContainsFunc(tools, func(t llm.ToolDef) bool { return t.Hosted.Dialect == "" })
}

// tools writes consecutive functions as one tool, and each hosted tool as another.
func tools(h *wire.Head, defs []llm.ToolDef) {
	if !h.Set("tools") {
		return
	}
	h.Open('[')
	grouped := false
	for _, t := range defs {
		switch t.Hosted.Dialect {
		case Name:
			if grouped {
				h.Buf = append(h.Buf, "]}"...)
				grouped = false
			}
			h.Raw(t.Hosted.Data)
		case "":
			if !grouped {
				h.Open('{')
				h.Key("functionDeclarations")
				h.Open('[')
				grouped = true
			}
			declaration(h, t)
		}
	}
	if grouped {
		h.Buf = append(h.Buf, "]}"...)
	}
	h.Close(']')
}

const (
	noParameters   = `{"type":"object","properties":{}}`
	textParameters = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`
)

// declaration writes a function. Its schema is sent unchanged: parametersJsonSchema accepts JSON Schema and
// ignores unknown keywords.
func declaration(h *wire.Head, t llm.ToolDef) {
	h.Open('{')
	h.Field("name", t.Name)
	h.Field("description", t.Description)
	h.Key("parametersJsonSchema")
	schema, err := wire.ParseJSON(t.Parameters)
	switch {
	case t.Freeform != nil:
		h.Raw([]byte(textParameters))
	case err != nil || schema.Kind() != '{':
		h.Raw([]byte(noParameters))
	default:
		h.Raw(schema)
	}
	h.Close('}')
}

func systemInstruction(h *wire.Head, messages []llm.Message) {
	begun := false
	for i := range messages {
		if role := messages[i].Role; role != llm.RoleSystem && role != llm.RoleDeveloper {
			continue
		}
		for _, p := range messages[i].Parts {
			t, ok := p.(llm.Text)
			if !ok || t.Text == "" {
				continue
			}
			if !begun {
				if !h.Set("systemInstruction") {
					return
				}
				begun = true
				h.Open('{')
				h.Key("parts")
				h.Open('[')
			}
			h.Open('{')
			h.Field("text", t.Text)
			h.Close('}')
		}
	}
	if begun {
		h.Buf = append(h.Buf, "]}"...)
	}
}
