package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// geminiStandIn is a signature that the API accepts in place of an unknown signature.
const geminiStandIn = "skip_thought_signature_validator"

// thinkingRules checks thinking settings for the model.
func (c *geminiCheck) thinkingRules(t geminiObject) {
	if c.rules == nil {
		return
	}
	if level, ok := t["thinkingLevel"].(string); ok && !lists(c.rules.levels, strings.ToLower(level)) {
		if c.rules.levels == "" {
			c.fail("Thinking level is not supported for this model.")
		}
		c.fail("Thinking level %s is not supported for this model. Please retry with other thinking level.", strings.ToUpper(level))
	}
	if t["thinkingBudget"] != nil && c.rules.budget == always {
		c.fail("Thinking budget is not supported for this model. Use thinkingLevel instead.")
	}
}

// outputLimit checks the maximum output for the model.
func (c *geminiCheck) outputLimit(config geminiObject) {
	if c.rules == nil {
		return
	}
	limit := c.rules.output
	if !c.streaming {
		limit = c.rules.unary
	}
	if n, ok := config["maxOutputTokens"].(float64); ok && int64(n) > limit {
		c.fail("The maxOutputTokens value %d is out of the supported range from 1 to %d.", int64(n), limit)
	}
}

// needsSignature reports whether a call in a content must have a signature. Models with rules check the current turn
// only, which begins with the last user content that is not a response.
func (c *geminiCheck) needsSignature(content int) bool {
	return c.strict && (c.rules == nil || content > c.turn)
}

// turnStart returns the index where the current turn begins.
func turnStart(contents []any) int {
	for i := len(contents) - 1; i > 0; i-- {
		content, _ := contents[i].(geminiObject)
		parts, _ := content["parts"].([]any)
		if content["role"] != "user" || len(parts) == 0 {
			continue
		}
		responses := 0
		for _, p := range parts {
			if part, _ := p.(geminiObject); part["functionResponse"] != nil {
				responses++
			}
		}
		if responses == 0 {
			return i
		}
	}
	return 0
}

// geminiSign returns a function call's signature.
func geminiSign(call geminiObject) string {
	return base64.StdEncoding.EncodeToString([]byte("thought|" + geminiMAC(call)))
}

func geminiMAC(call geminiObject) string {
	args := call["args"]
	if args == nil {
		args = geminiObject{}
	}
	var tree any // numbers as JSON decodes them
	if err := json.Unmarshal(geminiJSON([]any{call["name"], args}), &tree); err != nil {
		panic("llmtest: " + err.Error())
	}
	return fmt.Sprintf("%x", hmac256([]byte("llmtest"), string(geminiJSON(tree))))
}

// signature checks a signature that the server made. The signatures of scripts and the stand-in are accepted.
func (c *geminiCheck) signature(at string, part, call geminiObject) {
	text, _ := part["thoughtSignature"].(string)
	if c.rules == nil || text == geminiStandIn {
		return
	}
	b, err := base64.StdEncoding.DecodeString(text)
	mac, ok := strings.CutPrefix(string(b), "thought|")
	if err == nil && ok && mac != geminiMAC(call) {
		c.fail("Thought signature is not valid, at %s.", at)
	}
}

// examine checks the input length.
func (geminiProtocol) examine(config ServerConfig, r *http.Request, body []byte) (findings, error) {
	limit := int64(0)
	if r != nil {
		if rules := geminiRulesOf(modelOf(r, "")); rules != nil {
			limit = rules.input
		}
	}
	return findings{}, tooLong(config, limit, body, "The input token count (%d) exceeds the maximum number of tokens allowed (%d).")
}
