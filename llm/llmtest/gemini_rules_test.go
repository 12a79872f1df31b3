package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// TestGemini_RefusesUnsupportedModelSettings has the refused and the accepted form of each rule.
func TestGemini_RefusesUnsupportedModelSettings(t *testing.T) {
	level := func(s string) string { return `"thinkingConfig":{"thinkingLevel":"` + s + `"}` }
	const budget = `"thinkingConfig":{"thinkingBudget":1000}`
	const whole, stream = "generateContent", "streamGenerateContent"
	for _, tt := range []struct{ model, method, config, want string }{
		{"gemini-3.8-flash", whole, level("low"), ""},
		{"gemini-3.8-flash", whole, level("minimal"), "Thinking level MINIMAL is not supported"},
		{"gemini-3.7-flash", whole, level("MINIMAL"), "not supported"},
		{"gemini-3.6-flash", whole, level("minimal"), ""},
		{"gemini-3.1-pro-preview", whole, level("medium"), ""},
		{"gemini-3.1-pro-preview", whole, level("minimal"), "not supported"},
		{"gemini-4-argon", whole, level("high"), ""},
		{"gemini-4-argon", whole, level("minimal"), "not supported"},
		{"gemini-4-argon", whole, budget, "Thinking budget is not supported"},
		{"gemini-3.8-flash", whole, budget, ""},
		{"gemini-2.5-pro", whole, budget, ""},
		{"gemini-2.5-pro", whole, level("low"), "Thinking level is not supported"},
		{"gemini-4-argon", whole, `"maxOutputTokens":32768`, ""},
		{"gemini-4-argon", whole, `"maxOutputTokens":32769`, "from 1 to 32768"},
		{"gemini-4-argon", stream, `"maxOutputTokens":65536`, ""},
		{"gemini-4-argon", stream, `"maxOutputTokens":65537`, "from 1 to 65536"},
		{"gemini-3.8-flash", whole, `"maxOutputTokens":65536`, ""},
		{"gemini-x", whole, level("minimal") + `,"maxOutputTokens":99999`, ""},
	} {
		r := httptest.NewRequest("POST", "/v1beta/models/"+tt.model+":"+tt.method, nil)
		err := geminiProtocol{}.validate(r, []byte(`{"generationConfig":{`+tt.config+`},"contents":[{"role":"user","parts":[{"text":"q"}]}]}`))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:%s %s: got error %v, want %q", tt.model, tt.method, tt.config, err, tt.want)
		}
	}
}

func TestGemini_CallsInTheCurrentTurnKeepTheirSignature(t *testing.T) {
	const model = "gemini-3.8-flash"
	parts := geminiParts(reply{ID: "1", Model: model, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "f", Arguments: `{"n":1.0,"s":"x"}`}}})
	whole, err := json.Marshal(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	call := string(whole)
	signature, _ := parts[0]["thoughtSignature"].(string)
	with := func(s string) string { return strings.Replace(call, signature, s, 1) }
	unsigned := strings.Replace(call, `"thoughtSignature":`, `"partMetadata":`, 1)
	question := `{"role":"user","parts":[{"text":"q"}]}`
	step := func(call string) string {
		return fmt.Sprintf(`{"role":"model","parts":[%s]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{}}}]}`, call)
	}
	for name, tt := range map[string]struct{ contents, want string }{
		"unchanged":                       {question + "," + step(call), ""},
		"other order of arguments":        {question + "," + step(strings.Replace(call, `{"n":1.0,"s":"x"}`, `{"s":"x","n":1}`, 1)), ""},
		"the stand-in":                    {question + "," + step(with(geminiStandIn)), ""},
		"no signature":                    {question + "," + step(unsigned), "missing a thought_signature"},
		"no signature in the second step": {question + "," + step(call) + "," + step(unsigned), "missing a thought_signature"},
		"no signature in an earlier turn": {question + "," + step(unsigned) + `,{"role":"model","parts":[{"text":"a"}]},` + question, ""},
		"another call":                    {question + "," + step(strings.Replace(call, `"s":"x"`, `"s":"y"`, 1)), "Thought signature is not valid"},
		"a response without its id":       {question + "," + strings.Replace(step(call), `{"functionResponse":{"id":"a",`, `{"functionResponse":{`, 1), "no open function call"},
	} {
		r := httptest.NewRequest("POST", "/v1beta/models/"+model+":generateContent", nil)
		err := geminiProtocol{}.validate(r, []byte(`{"contents":[`+tt.contents+`]}`))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tt.want)
		}
	}
}

func TestGemini_TheInputHasALimit(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1beta/models/gemini-4-argon:generateContent", nil)
	for words, refused := range map[int]bool{1_048_000: false, 1_048_576: true} {
		body := `{"contents":[{"role":"user","parts":[{"text":"` + strings.Repeat("word", words) + `"}]}]}`
		_, err := geminiProtocol{}.examine(ServerConfig{}, r, []byte(body))
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "exceeds the maximum number of tokens") {
			t.Errorf("%d words: got error %v, want a refusal: %t", words, err, refused)
		}
	}
}
