package gemini

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// name returns an enumeration value as it was sent, which may be a number.
func name(v wire.Value) string {
	if v.Kind() == '"' {
		return v.Str()
	}
	return string(v)
}

// finishNumbers maps the numbers of finish reasons, which some servers send.
var finishNumbers = map[string]string{
	"1": "STOP", "2": "MAX_TOKENS", "3": "SAFETY", "4": "RECITATION", "5": "OTHER", "6": "LANGUAGE",
	"7": "BLOCKLIST", "8": "PROHIBITED_CONTENT", "9": "SPII", "10": "MALFORMED_FUNCTION_CALL",
	"11": "IMAGE_SAFETY", "12": "UNEXPECTED_TOOL_CALL", "13": "TOO_MANY_TOOL_CALLS",
}

// finishReason maps a finish reason. A whole answer may have none.
func finishReason(raw string) llm.FinishReason {
	if word, ok := finishNumbers[raw]; ok {
		raw = word
	}
	switch raw {
	case "STOP", "":
		return llm.FinishStop
	case "MAX_TOKENS":
		return llm.FinishLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "JAILBREAK":
		return llm.FinishContentFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return llm.FinishError
	}
	return llm.FinishOther
}

// readUsage reads the token counts. Thoughts count as output, and the prompt of hosted tools as input.
func readUsage(raw wire.Value) llm.Usage {
	var u llm.Usage
	for m := raw.Members(); m.Next(); {
		n := m.Value.Int
		switch string(m.Key) {
		case "promptTokenCount", "toolUsePromptTokenCount":
			u.Input += n()
		case "candidatesTokenCount":
			u.Output += n()
		case "thoughtsTokenCount":
			u.Reasoning = n()
			u.Output += n()
		case "cachedContentTokenCount":
			u.CacheRead = n()
		case "serviceTier", "trafficType":
			u.Tier = cmp.Or(tier(m.Value.Str()), u.Tier)
		}
	}
	u.Raw = bytes.Clone(raw)
	return u
}

// tier returns the service tier for the Gemini API's name or the Vertex AI traffic type.
func tier(raw string) string {
	name := strings.ToLower(raw)
	name = strings.TrimPrefix(name, "service_tier_")
	switch {
	case name == "unspecified" || name == "traffic_type_unspecified":
		return ""
	case name == "on_demand":
		return "standard"
	}
	return strings.TrimPrefix(name, "on_demand_")
}
