package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// openaiModel checks what depends on the model.
func openaiModel(v wire.Value) error {
	rules := openaiRulesOf(v.Get("model").Str())
	if rules == nil {
		return nil
	}
	if e := v.Get("reasoning", "effort"); e.Exists() && !lists(rules.efforts, e.Str()) {
		return apiErrorf("Unsupported value: '%s' is not supported with the '%s' model. Supported values are: %s.",
			e.Str(), rules.name, rules.efforts)
	}
	if rules.sampling == always {
		for _, name := range []string{"temperature", "top_p", "top_logprobs"} {
			if v.Get(name).Exists() {
				return apiErrorf("Unsupported parameter: '%s' is not supported with this model.", name)
			}
		}
	}
	if err := rules.cache(v); err != nil {
		return err
	}
	if t := v.Get("service_tier"); t.Exists() {
		if err := openaiOneOf("service_tier", t, "auto", "default", "flex", "scale", "priority", "fast", "ultrafast"); err != nil {
			return err
		}
	}
	return rules.strictTools("tools", v.Get("tools"))
}

// cache checks the members that control the prompt cache.
func (r *openaiRules) cache(v wire.Value) error {
	if p := v.Get("prompt_cache_retention"); p.Exists() && !lists(r.retention, p.Str()) {
		return fmt.Errorf("invalid value for 'prompt_cache_retention': %s; supported values are: %q", p, strings.Fields(r.retention))
	}
	o := v.Get("prompt_cache_options")
	if !o.Exists() {
		return nil
	}
	if !r.options {
		return errors.New("unsupported parameter: 'prompt_cache_options' is not supported with this model")
	}
	if t := o.Get("ttl"); t.Exists() {
		if err := openaiOneOf("prompt_cache_options.ttl", t, "30m", "12h"); err != nil {
			return err
		}
	}
	if m := o.Get("mode"); m.Exists() {
		return openaiOneOf("prompt_cache_options.mode", m, "implicit", "explicit")
	}
	return nil
}

// strictTools checks that function tools have the member strict, which may be null.
func (r *openaiRules) strictTools(at string, tools wire.Value) error {
	if !r.strict {
		return nil
	}
	n := 0
	for it := tools.Elements(); it.Next(); n++ {
		if it.Value.Get("type").Is("function") && it.Value.Get("strict") == nil {
			return fmt.Errorf("missing required parameter: '%s[%d].strict'", at, n)
		}
	}
	return nil
}

// additionalTools checks tools that are added in the conversation.
func (c *openaiInput) additionalTools(at string, v wire.Value) error {
	if c.rules == nil {
		return nil
	}
	if err := openaiOneOf(at+".role", v.Get("role"), "developer"); err != nil {
		return err
	}
	if v.Get("tools").Kind() != '[' {
		return fmt.Errorf("missing required parameter: '%s.tools'", at)
	}
	if err := openaiTools(v); err != nil {
		return err
	}
	return c.rules.strictTools(at+".tools", v.Get("tools"))
}

// examine checks the input length.
func (openaiProtocol) examine(c ServerConfig, _ *http.Request, body []byte) (findings, error) {
	v := wire.Value(body)
	rules := openaiRulesOf(v.Get("model").Str())
	limit := int64(0)
	if rules != nil {
		limit = rules.input
	}
	err := tooLong(c, limit, body, "Your input exceeds the context window of this model. Please adjust your input and try again. (%d tokens > %d)")
	if err != nil || !c.NeedPhase || rules == nil || !rules.phases {
		return findings{}, err
	}
	n := 0
	for it := v.Get("input").Elements(); it.Next(); n++ {
		if it.Value.Get("role").Is("assistant") && !it.Value.Get("phase").Exists() {
			return findings{}, fmt.Errorf("missing required parameter: 'input[%d].phase'", n)
		}
	}
	return findings{}, nil
}

// The ids of messages end with a letter for their phase, so that the server notices messages that lost it.
var openaiPhases = map[byte]string{'c': "commentary", 'f': "final_answer"}

// openaiPhase returns the phase for a text in an answer, or "" if the model has none. Text before calls is commentary.
func openaiPhase(rep reply) string {
	if rules := openaiRulesOf(rep.Model); rules == nil || !rules.phases {
		return ""
	}
	if rep.Finish == llm.FinishToolCalls {
		return "commentary"
	}
	return "final_answer"
}

// phase checks that a model's message has the same phase as it was returned with.
func (c *openaiInput) phase(at string, v wire.Value) error {
	id := v.Get("id").Str()
	if c.rules == nil || !c.rules.phases || !strings.HasPrefix(id, "msg_") {
		return nil
	}
	if want := openaiPhases[id[len(id)-1]]; want != "" && !v.Get("phase").Is(want) {
		return fmt.Errorf("missing required parameter: '%s.phase': message %s was returned with the phase %q", at, id, want)
	}
	return nil
}

// openaiSecret begins content that the server encrypted.
const openaiSecret = "gAAAAABllmtest_"

// openaiEncrypt returns the encrypted content of reasoning, which names its model and the item after it.
func openaiEncrypt(model string, next wire.Value) string {
	fields := []string{model, openaiFollower(next)}
	fields = append(fields, openaiMAC(fields))
	return openaiSecret + base64.StdEncoding.EncodeToString([]byte(strings.Join(fields, "|")))
}

func openaiMAC(fields []string) string {
	return fmt.Sprintf("%x", hmac256([]byte("llmtest"), strings.Join(fields[:2], "\n")))
}

// openaiFollower identifies the item after reasoning by its content.
func openaiFollower(item wire.Value) string {
	if !item.Exists() {
		return ""
	}
	text := item.Get("type").Str()
	for _, name := range []string{"call_id", "name", "arguments", "input", "encrypted_content"} {
		text += "\n" + item.Get(name).Str()
	}
	for it := item.Get("content").Elements(); it.Next(); {
		text += "\n" + it.Value.Get("text").Str()
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// decrypt checks encrypted content and records which item must follow. Content that a script made up is accepted.
func (c *openaiInput) decrypt(id string, content wire.Value) error {
	c.follower = ""
	secret, ok := strings.CutPrefix(content.Str(), openaiSecret)
	if c.rules == nil || !ok {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(secret)
	f := strings.Split(string(b), "|")
	if err != nil || len(f) != 3 || f[2] != openaiMAC(f) || f[0] != c.rules.name {
		return apiErrorf("The encrypted content for item %s could not be verified. "+
			"Reason: Encrypted content could not be decrypted or parsed.", id)
	}
	c.follower = f[1]
	return nil
}
