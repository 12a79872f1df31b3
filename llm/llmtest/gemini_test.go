package llmtest

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

const geminiPath = "/v1beta/models/gemini-3-pro-preview:generateContent"

func geminiValidate(body string) error {
	return geminiProtocol{}.validate(httptest.NewRequest("POST", geminiPath, nil), []byte(body))
}

func TestGemini_AcceptsAConversation(t *testing.T) {
	if err := geminiValidate(`{
		"systemInstruction":{"parts":[{"text":"s"}]},
		"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}}]},{"googleSearch":{}}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},
		"generationConfig":{"maxOutputTokens":5,"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true},"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}},
		"contents":[
			{"role":"user","parts":[{"text":"q"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},
			{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x","name":"f"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"x","name":"f","response":{"result":"1"}}},{"functionResponse":{"name":"f","response":{"error":"2"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}},{"text":"go on"}]}
		]}`); err != nil {
		t.Error(err)
	}
}

func TestGemini_RefusesLikeTheAPI(t *testing.T) {
	user := `{"role":"user","parts":[{"text":"q"}]}`
	call := `{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"c2ln"}]}`
	answer := func(s string) string { return `{"role":"user","parts":[` + s + `]}` }
	result := `{"functionResponse":{"id":"a","name":"f","response":{}}}`
	contents := func(c ...string) string { return `{"contents":[` + strings.Join(c, ",") + `]}` }
	with := func(member string) string { return `{` + member + `,"contents":[` + user + `]}` }
	for _, c := range []struct{ name, body, want string }{
		{"no JSON", `{`, "invalid JSON"},
		{"unknown member", with(`"stream":true`), `Unknown name "stream"`},
		{"no contents", `{}`, "contents is not specified"},
		{"an unknown role", contents(`{"role":"assistant","parts":[{"text":"q"}]}`), "valid role"},
		{"roles that do not alternate", contents(user, user), "alternate"},
		{"model first", contents(`{"role":"model","parts":[{"text":"q"}]}`, user), "begins with a user turn"},
		{"model last", contents(user, `{"role":"model","parts":[{"text":"q"}]}`), "end with a user turn"},
		{"no parts", contents(`{"role":"user","parts":[]}`), "must not be empty"},
		{"empty text", contents(answer(`{"text":""}`)), "empty text"},
		{"an empty part", contents(answer(`{"thought":true}`)), "required oneof"},
		{"a part with two contents", contents(answer(`{"text":"a","fileData":{"fileUri":"x"}}`)), "required oneof"},
		{"an unknown part", contents(answer(`{"image":"a"}`)), `Unknown name "image"`},
		{"data not in base64", contents(answer(`{"inlineData":{"mimeType":"image/png","data":"*"}}`)), "Base64"},
		{"a call without an answer", contents(user, call, user), "number of function response parts"},
		{"a call answered twice", contents(user, call, answer(result+","+result)), "no open function call"},
		{"an answer to another id", contents(user, call, answer(`{"functionResponse":{"id":"b","name":"f","response":{}}}`)), "no open function call"},
		{"an answer to another name", contents(user, call, answer(`{"functionResponse":{"id":"a","name":"g","response":{}}}`)), "no open function call"},
		{"an answer to nothing", contents(answer(result)), "no open function call"},
		{"an answer that is not an object", contents(user, call, answer(`{"functionResponse":{"id":"a","name":"f","response":"x"}}`)), "an object is expected"},
		{"a call without a signature", contents(user, `{"role":"model","parts":[{"functionCall":{"name":"f"}}]}`, answer(result)), "thought_signature"},
		{"a call by the user", contents(answer(`{"functionCall":{"name":"f"},"thoughtSignature":"c2ln"}`)), "role model"},
		{"a bad function name", with(`"tools":[{"functionDeclarations":[{"name":"a b"}]}]`), "Invalid function name"},
		{"a function declared twice", with(`"tools":[{"functionDeclarations":[{"name":"a"},{"name":"a"}]}]`), "Duplicate"},
		{"an unknown type in a schema", with(`"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"object","properties":{"x":{"type":"str"}}}}]}]`), "str is not a type"},
		{"parameters not an object", with(`"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"string"}}]}]`), "must be object"},
		{"an empty tool", with(`"tools":[{}]`), "one of its fields"},
		{"a mode without functions", with(`"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`), "without function_declarations"},
		{"an unknown mode", with(`"tools":[{"functionDeclarations":[{"name":"a"}]}],"toolConfig":{"functionCallingConfig":{"mode":"required"}}`), "mode"},
		{"a name that is not declared", with(`"tools":[{"functionDeclarations":[{"name":"a"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["b"]}}`), "not declared"},
		{"an unknown setting", with(`"generationConfig":{"max_tokens":1}`), `Unknown name "max_tokens"`},
		{"a level and a budget", with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"low","thinkingBudget":1}}`), "only one of"},
		{"a schema without its type", with(`"generationConfig":{"responseJsonSchema":{"type":"object"}}`), "application/json"},
		{"an empty system instruction", with(`"systemInstruction":{"parts":[]}`), "must not be empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := geminiValidate(c.body); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestGemini_FailuresHaveGooglesForm(t *testing.T) {
	var got struct {
		Error struct {
			Code            int
			Message, Status string
		}
	}
	if err := json.Unmarshal(geminiProtocol{}.failure(429, "slow down"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Error.Code != 429 || got.Error.Status != "RESOURCE_EXHAUSTED" || got.Error.Message != "slow down" {
		t.Errorf("got %+v, want code 429, RESOURCE_EXHAUSTED, slow down", got)
	}
}
