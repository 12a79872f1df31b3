package gemini

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

var fuzzSeeds = []string{
	sse(content(`{"text":"t","thought":true},{"text":"a\u00e9\ud83d\ude00"}`, ""), content(`{"text":"","thoughtSignature":"S"}`, stop)),
	sse(content(`{"functionCall":{"name":"f","id":"x","willContinue":true}}`, ""),
		content(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]['b c']","stringValue":"x"},{"jsonPath":"$.a[1]","numberValue":1e9}]}}`, `,"finishReason":1`)),
	`[` + content(`{"functionCall":{"name":"f","args":{"a":[1,2]}},"thoughtSignature":"S"}`, stop) + `]`,
	`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":"12"}}`,
	`data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}` + "\n\n",
	content(`{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"executableCode":{}}`, stop),
}

// checked fails on answers that violate the decoder's contract.
func checked(t *testing.T, resp *llm.Response, err error) {
	if err != nil {
		return
	}
	if resp.Finish.Reason == "" {
		t.Error("a success without a finish reason")
	}
	ids := map[string]bool{}
	for _, c := range resp.ToolCalls() {
		if c.ID == "" || ids[c.ID] || !json.Valid([]byte(c.Arguments)) {
			t.Errorf("call %+v", c)
		}
		ids[c.ID] = true
	}
	call, err := NewDialect(Config{}).Encode(&llm.Request{Model: "gemini-3-pro", Messages: []llm.Message{llm.UserText("q"), resp.Message}})
	if err != nil || !json.Valid(call.Body.Bytes()) {
		t.Errorf("the answer cannot be sent back: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := wire.NewAssembler(Name, "gemini-3-pro", nil)
		err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Body: bytes.NewReader(data), Stream: true, Limits: llm.Limits{MaxEvent: 1 << 20}}, a)
		checked(t, a.Response(), err)
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := wire.NewAssembler(Name, "gemini-3-pro", nil)
		err := NewDialect(Config{}).Decode(data, a)
		if err == nil && a.Done() {
			checked(t, a.Response(), nil)
		}
	})
}

// FuzzParse also checks that parsing an encoded request loses nothing.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"q"},{"inline_data":{"mime_type":"image/png","data":"AA=="}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"S"},{"thought":true,"thoughtSignature":"x"}]},{"parts":[{"functionResponse":{"name":"f","response":{"result":"x"}}}]}]}`))
	f.Add([]byte(`{"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","nullable":true,"anyOf":[{}],"minItems":"3"}}],"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}`))
	f.Add([]byte(`{"model":"models/m","generationConfig":{"maxOutputTokens":1,"topK":2,"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true},"responseMimeType":"application/json","stopSequences":["a"]},"x":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewDialect(Config{})
		r, _, err := requests.Parse(d, data)
		if err != nil {
			return
		}
		first, err := d.Encode(r)
		if err != nil {
			return
		}
		if !json.Valid(first.Body.Bytes()) {
			t.Fatalf("encoded to %s", first.Body.Bytes())
		}
		again, _, err := requests.Parse(d, first.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		second, err := d.Encode(again)
		if err != nil {
			t.Fatal(err)
		}
		third, _, _ := requests.Parse(d, second.Body.Bytes())
		last, err := d.Encode(third)
		if err != nil || !bytes.Equal(second.Body.Bytes(), last.Body.Bytes()) {
			t.Errorf("%s became %s (%v)", second.Body.Bytes(), last.Body.Bytes(), err)
		}
	})
}
