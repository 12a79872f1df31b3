package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func ptr[T any](v T) *T { return &v }

// encoded returns the body for a request.
func encoded(t *testing.T, r *llm.Request) string {
	t.Helper()
	call, err := NewDialect(Config{}).Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	body := call.Body.Bytes()
	if !json.Valid(body) {
		t.Fatalf("the body is no JSON: %s", body)
	}
	return string(body)
}

// contentsOf returns the contents in a request's body.
func contentsOf(t *testing.T, r *llm.Request) string {
	t.Helper()
	_, contents, _ := strings.Cut(encoded(t, r), `"contents":`)
	return strings.TrimSuffix(contents, "}")
}

func state(model, data string) llm.State {
	return llm.State{Dialect: Name, Model: model, Data: []byte(data)}
}

func TestEncode_ContentsOfEveryKind(t *testing.T) {
	const m2, m3 = "gemini-2.5-flash", "gemini-3-pro-preview"
	image := llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("png")}}
	call := llm.ToolCall{ID: callIDPrefix + "x-0", Name: "read", Arguments: `{"n": 1.0}`}
	foreign := llm.ToolCall{ID: "toolu_1", Name: "read", Arguments: `{}`}
	result := func(c llm.ToolCall, parts ...llm.Part) llm.Message {
		return llm.ToolResults(llm.ToolResult{ID: c.ID, Name: c.Name, Parts: parts})
	}
	ask, u := llm.UserText("q"), `{"role":"user","parts":[{"text":"q"}]}`
	model := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	for _, c := range []struct {
		name, model string
		messages    []llm.Message
		want        string
	}{
		{"neighbours of one role are merged", m2, []llm.Message{ask, llm.UserText("r"), llm.AssistantText("a"), llm.AssistantText("b")},
			`[{"role":"user","parts":[{"text":"q"},{"text":"r"}]},{"role":"model","parts":[{"text":"a"},{"text":"b"}]}]`},
		{"empty text is left out, and a message of nothing else", m2, []llm.Message{ask, model(llm.Text{}), llm.UserText("r")},
			`[{"role":"user","parts":[{"text":"q"},{"text":"r"}]}]`},
		{"a signature on empty text stays in its place", m2, []llm.Message{ask, model(llm.Text{Text: "a"}, llm.Text{State: state(m2, "sig+/=")})},
			`[` + u + `,{"role":"model","parts":[{"text":"a"},{"text":"","thoughtSignature":"sig+/="}]}]`},
		{"signatures of another model are left out", m2, []llm.Message{ask, model(llm.Text{Text: "a", State: state(m3, "s")}, llm.Thinking{Text: "t", State: state(m3, "s")})},
			`[` + u + `,{"role":"model","parts":[{"text":"a"}]}]`},
		{"own thoughts go back, those of others do not", m2, []llm.Message{ask, model(
			llm.Thinking{Text: "x"}, llm.Thinking{Text: "t", State: state(m2, "s")}, llm.Thinking{Redacted: true, State: state(m2, "r")},
			llm.Thinking{Text: "y", State: llm.State{Dialect: "anthropic", Data: []byte("s")}})},
			`[` + u + `,{"role":"model","parts":[{"text":"t","thought":true,"thoughtSignature":"s"},{"thought":true,"thoughtSignature":"r"}]}]`},
		{"made-up ids are not sent, arguments are kept byte for byte", m2, []llm.Message{ask, model(call), result(call, llm.Text{Text: "ok"})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"name":"read","args":{"n": 1.0}}}]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"result":"ok"}}}]}]`},
		{"real ids are sent", m2, []llm.Message{ask, model(foreign), result(foreign, llm.Text{Text: "ok"})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"read","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"read","response":{"result":"ok"}}}]}]`},
		{"text that is JSON is wrapped all the same", m2, []llm.Message{ask, model(foreign), result(foreign, llm.Text{Text: `{"a":1}`})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"read","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"read","response":{"result":"{\"a\":1}"}}}]}]`},
		{"an error, whose name comes from the call", m2, []llm.Message{ask, model(foreign), llm.ToolResults(llm.ToolResult{ID: "toolu_1", IsError: true, Parts: []llm.Part{llm.Text{Text: "no"}}})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"read","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"read","response":{"error":"no"}}}]}]`},
		{"the first foreign call of a content gets the stand-in on Gemini 3", m3, []llm.Message{ask, model(foreign, foreign)},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"read","args":{}},"thoughtSignature":"` + standInSignature + `"},{"functionCall":{"id":"toolu_1","name":"read","args":{}}}]}]`},
		{"own signatures need no stand-in", m3, []llm.Message{ask, model(llm.ToolCall{ID: "a", Name: "read", State: state(m3, "s1")}, llm.ToolCall{ID: "b", Name: "read"})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"a","name":"read","args":{}},"thoughtSignature":"s1"},{"functionCall":{"id":"b","name":"read","args":{}}}]}]`},
		{"arguments that are no object, and freeform ones", m2, []llm.Message{ask, model(
			llm.ToolCall{ID: "a", Name: "f", Arguments: `[1`}, llm.ToolCall{ID: "b", Name: "f", Arguments: `7`}, llm.ToolCall{ID: "c", Name: "f", Arguments: "x\n", Custom: true})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{"_raw":"[1"}}},{"functionCall":{"id":"b","name":"f","args":{"_raw":"7"}}},{"functionCall":{"id":"c","name":"f","args":{"input":"x\n"}}}]}]`},
		{"a picture in a result follows it on older models", m2, []llm.Message{ask, model(call), result(call, llm.Text{Text: "ok"}, image)},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"name":"read","args":{"n": 1.0}}}]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"result":"ok"}}},{"text":"From the result of read:"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}]`},
		{"a picture in a result is part of it on Gemini 3", m3, []llm.Message{ask, model(llm.ToolCall{ID: "a", Name: "read", State: state(m3, "s")}), llm.ToolResults(llm.ToolResult{ID: "a", Name: "read", Parts: []llm.Part{image}})},
			`[` + u + `,{"role":"model","parts":[{"functionCall":{"id":"a","name":"read","args":{}},"thoughtSignature":"s"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"result":""},"parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}}]}]`},
		{"files by address and inline", m2, []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{URL: "https://x.test/a.png"}}, llm.Audio{Media: llm.Media{MIME: "audio/wav", Data: []byte("w")}}, llm.Document{Media: llm.Media{URL: "data:application/pdf;base64,cGRm"}}}}},
			`[{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://x.test/a.png"}},{"inlineData":{"mimeType":"audio/wav","data":"dw=="}},{"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}]}]`},
		{"opaque parts of this dialect stay in place", m2, []llm.Message{ask, model(llm.Text{Text: "a"}, llm.Opaque{State: state(m2, `{"executableCode":{"code":"1"}}`)}, llm.Opaque{State: llm.State{Dialect: "anthropic", Data: []byte(`{}`)}})},
			`[` + u + `,{"role":"model","parts":[{"text":"a"},{"executableCode":{"code":"1"}}]}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := contentsOf(t, &llm.Request{Model: c.model, Messages: c.messages}); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestEncode_HeadAndPath(t *testing.T) {
	user := []llm.Message{llm.UserText("q")}
	tail := `"contents":[{"role":"user","parts":[{"text":"q"}]}]}`
	tool := []llm.ToolDef{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object","$schema":"x"}`)}}
	decl := `"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","$schema":"x"}}]}],`
	body := func(s string) map[string]llm.Options {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			t.Fatal(err)
		}
		return map[string]llm.Options{Name: {Body: m}}
	}
	for _, c := range []struct {
		name string
		r    llm.Request
		want string
	}{
		{"nothing", llm.Request{}, `{` + tail},
		{"settings", llm.Request{MaxTokens: 5, Temperature: ptr(0.5), TopP: ptr(1.0), TopK: ptr(3), Stop: []string{"x"}},
			`{"generationConfig":{"maxOutputTokens":5,"temperature":0.5,"topP":1,"topK":3,"stopSequences":["x"]},` + tail},
		{"system and developer are merged", llm.Request{Messages: []llm.Message{llm.SystemText("a"), user[0], {Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "b"}}}}},
			`{"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]},` + tail},
		{"level", llm.Request{Model: "gemini-3-pro-preview", Effort: "low"}, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}},` + tail},
		{"no such level", llm.Request{Model: "gemini-3-pro-preview", Effort: "max"}, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"high","includeThoughts":true}},` + tail},
		{"least level", llm.Request{Model: "gemini-3-flash-preview", Effort: "none"}, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"minimal"}},` + tail},
		{"budget for an effort", llm.Request{Model: "gemini-2.5-flash", Effort: "medium"}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":8192,"includeThoughts":true}},` + tail},
		{"no thinking", llm.Request{Model: "gemini-2.5-flash", Effort: "none"}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}},` + tail},
		{"budget", llm.Request{Model: "gemini-3-pro", ThinkingBudget: ptr(99)}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":99,"includeThoughts":true}},` + tail},
		{"output", llm.Request{Output: &llm.OutputFormat{Schema: json.RawMessage(` {"type":"object"} `)}}, `{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}},` + tail},
		{"tools", llm.Request{Tools: tool}, `{` + decl + tail},
		{"tool choice auto", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ToolAuto}}, `{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},` + decl + tail},
		{"tool choice none", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ToolNone}}, `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},` + decl + tail},
		{"tool choice required", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}}, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` + decl + tail},
		{"tool choice named", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed, Name: "f"}}, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},` + decl + tail},
		{"tool choice without tools", llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolAuto}}, `{` + tail},
		{"hosted, freeform and bare tools", llm.Request{Tools: []llm.ToolDef{{Hosted: state("", `{"googleSearch":{}}`)}, {Hosted: llm.State{Dialect: "anthropic", Data: []byte(`{}`)}}, {Name: "p", Freeform: &llm.Freeform{}}, {Name: "q"}}},
			`{"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"p","description":"","parametersJsonSchema":` + textParameters + `},{"name":"q","description":"","parametersJsonSchema":` + noParameters + `}]}],` + tail},
		{"options win, one level deep", llm.Request{MaxTokens: 5, TopK: ptr(3), Options: body(`{"generationConfig":{"maxOutputTokens":6,"seed":1,"topK":null},"safetySettings":[]}`)},
			`{"generationConfig":{"maxOutputTokens":6,"seed":1},"safetySettings":[],` + tail},
		{"options replace the tool choice but keep the rest", llm.Request{Tools: tool, ToolChoice: llm.ToolChoice{Mode: llm.ToolAuto}, Options: body(`{"toolConfig":{"includeServerSideToolInvocations":true}}`)},
			`{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"},"includeServerSideToolInvocations":true},` + decl + tail},
		{"options can take the configuration away", llm.Request{MaxTokens: 5, Options: body(`{"generationConfig":null}`)}, `{` + tail},
		{"options can replace the contents", llm.Request{Options: body(`{"contents":[]}`)}, `{"contents":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.r.Messages == nil {
				c.r.Messages = user
			}
			if got := encoded(t, &c.r); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestEncode_CallNamesModelAndAnswerKind(t *testing.T) {
	d := NewDialect(Config{})
	for _, c := range []struct {
		model, path, query string
		unary              bool
	}{
		{"gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent", "alt=sse", false},
		{"gemini-3-pro", "/v1beta/models/gemini-3-pro:generateContent", "", true},
		{"models/gemini-3-pro", "/v1beta/models/gemini-3-pro:generateContent", "", true},
		{"tunedModels/my one", "/v1beta/tunedModels/my%20one:generateContent", "", true},
	} {
		call, err := d.Encode(&llm.Request{Model: c.model, Unary: c.unary, Options: map[string]llm.Options{Name: {Header: map[string]string{"x-a": "b"}}}})
		if err != nil || call.Path != c.path || call.Query != c.query || call.Stream == c.unary || call.Header.Get("X-A") != "b" {
			t.Errorf("%s: %+v %v", c.model, call, err)
		}
	}
}

func TestEncode_MissingFileIsAnErrorAndLeavesTheCacheUsable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.png")
	r := &llm.Request{Cache: new(llm.Cache), Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{Path: path}}}}}}
	d := NewDialect(Config{})
	if _, err := d.Encode(r); err == nil || !strings.Contains(err.Error(), "message 1") {
		t.Fatalf("error %v, want one that names the message", err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := contentsOf(t, r); got != `[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}]` {
		t.Error(got)
	}
}

// longHistory returns a conversation of n turns with tools, parallel calls, thoughts and images.
func longHistory(n int) []llm.Message {
	const model = "gemini-3-pro-preview"
	messages := []llm.Message{llm.SystemText("You work on code."), llm.UserText("Please fix the tests.")}
	for i := range n {
		sig := fmt.Sprintf("c2lnbmF0dXJl%04d", i)
		parts := []llm.Part{
			llm.Thinking{Text: "I should look.", State: state(model, sig)},
			llm.Text{Text: fmt.Sprintf("Step %d: \"quoted\" ünïcode.", i)},
			llm.ToolCall{ID: fmt.Sprintf("%sr-%d", callIDPrefix, 2*i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"a%d.go","limit":%d}`, i, i), State: state(model, sig)},
			llm.ToolCall{ID: fmt.Sprintf("real-%d", i), Name: "shell", Arguments: `{"command":["go","test","./..."]}`},
			llm.Text{State: state(model, sig)},
		}
		messages = append(messages, llm.Message{Role: llm.RoleAssistant, Parts: parts})
		results := []llm.ToolResult{
			{ID: fmt.Sprintf("%sr-%d", callIDPrefix, 2*i), Name: "read_file", Parts: []llm.Part{llm.Text{Text: strings.Repeat("line of code\n", 20)}}},
			{ID: fmt.Sprintf("real-%d", i), Parts: []llm.Part{llm.Text{Text: "FAIL"}}, IsError: true},
		}
		if i%5 == 0 {
			results[0].Parts = append(results[0].Parts, llm.Image{Media: llm.Media{MIME: "image/png", Data: bytes.Repeat([]byte{byte(i)}, 30)}})
		}
		messages = append(messages, llm.ToolResults(results...))
		if i%7 == 0 {
			messages = append(messages, llm.UserText("Hurry."))
		}
	}
	return messages
}

func longRequest(messages []llm.Message) *llm.Request {
	return &llm.Request{
		Model: "gemini-3-pro-preview", Messages: messages, MaxTokens: 1000, Effort: "high",
		Tools: []llm.ToolDef{{Name: "read_file", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "shell"}},
	}
}

func TestEncode_RequestIsAPrefixOfTheNext(t *testing.T) {
	messages := longHistory(50)
	cache := new(llm.Cache)
	var last []byte
	for n := 2; n <= len(messages); n++ {
		r := longRequest(messages[:n])
		r.Cache = cache
		body := []byte(encoded(t, r))
		if prefix := bytes.TrimRight(last, "]}"); !bytes.HasPrefix(body, prefix) {
			t.Fatalf("request %d does not begin with request %d", n, n-1)
		}
		if scratch := encoded(t, longRequest(messages[:n])); scratch != string(body) {
			t.Fatalf("request %d differs from one encoded from scratch", n)
		}
		last = body
	}
}

// TestEncode_CacheNeverChangesTheRequest switches between histories and models, like sessions
// that fork, and checks that earlier bodies do not change.
func TestEncode_CacheNeverChangesTheRequest(t *testing.T) {
	d := NewDialect(Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := longHistory(20), longHistory(20)
	cache := new(llm.Cache)
	type sent struct {
		body interface{ Bytes() []byte }
		want string
	}
	var all []sent
	for range 300 {
		history := a
		if rng.IntN(4) == 0 {
			history = b
		}
		r := longRequest(history[:2+rng.IntN(len(history)-2)])
		if rng.IntN(5) == 0 {
			r.Model = "gemini-2.5-flash"
		}
		want := encoded(t, r)
		r.Cache = cache
		call, err := d.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sent{call.Body, want})
	}
	for i, s := range all {
		if string(s.body.Bytes()) != s.want {
			t.Fatalf("body %d changed", i)
		}
	}
}

// A typo must not mean maximum effort.
func TestEncode_AnUnknownEffortIsAnErrorWhereItMeansABudget(t *testing.T) {
	_, err := NewDialect(Config{}).Encode(&llm.Request{Model: "gemini-2.5-flash", Effort: "lwo", Messages: []llm.Message{llm.UserText("hi")}})
	if err == nil || !strings.Contains(err.Error(), `"lwo"; use none, minimal, low, medium, high, xhigh or max`) {
		t.Errorf("%v", err)
	}
}

func TestEffort_HasThisBudget(t *testing.T) {
	for effort, want := range map[string]int{"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576} {
		if got := (model{name: "gemini-2.5-flash"}).budget(effort); got != want {
			t.Errorf("%s: got %d, want %d", effort, got, want)
		}
	}
	if got := (model{name: "gemini-2.5-pro"}).budget("none"); got != 128 {
		t.Errorf("none of a Pro model: got %d, want 128", got)
	}
}
