package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// turn returns the messages of one round.
func turn(rng *rand.Rand, n int) []llm.Message {
	text := fmt.Sprintf("turn %d: \"quoted\" – ünïcode\n", n)
	switch rng.IntN(6) {
	case 0:
		return []llm.Message{llm.UserText(text), llm.AssistantText("answer to " + text)}
	case 1:
		return []llm.Message{llm.UserText(text), {Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte(text)}}}}, llm.AssistantText("nice")}
	case 2: // an answer that was interrupted before it had content
		return []llm.Message{llm.UserText(text), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: "unsigned"}}}}
	}
	calls := []llm.Part{signed(fmt.Sprint(n), "m"), llm.Text{Text: "let me look"}}
	var results []llm.ToolResult
	for i := range 1 + rng.IntN(3) {
		c := llm.ToolCall{ID: fmt.Sprintf("toolu_%d_%d", n, i), Name: "weather", Arguments: fmt.Sprintf(`{"city": "Rome %d"}`, i)}
		calls = append(calls, c)
		results = append(results, llm.TextResult(c, "sunny\n"+text, rng.IntN(4) == 0))
	}
	out := []llm.Message{llm.UserText(text), {Role: llm.RoleAssistant, Parts: calls}, llm.ToolResults(results...)}
	if rng.IntN(3) == 0 {
		out = append(out, llm.UserText("and hurry"))
	}
	return append(out, llm.AssistantText("done"))
}

func conversation(rng *rand.Rand, turns int) []llm.Message {
	messages := []llm.Message{llm.SystemText("You are terse.")}
	for n := range turns {
		messages = append(messages, turn(rng, n)...)
	}
	return messages
}

// open returns a body without its closing brackets.
func open(body []byte) []byte { return bytes.TrimRight(body, "]}") }

func TestEncode_ARequestIsAPrefixOfTheNext(t *testing.T) {
	messages := conversation(rand.New(rand.NewPCG(1, 1)), 50)
	for _, cached := range []bool{false, true} {
		r := &llm.Request{Model: "m", Tools: []llm.ToolDef{weather}, NoCache: true}
		if cached {
			r.Cache = new(llm.Cache)
		}
		var last []byte
		for n := 1; n <= len(messages); n++ {
			r.Messages = messages[:n]
			body := encode(t, r).Body.Bytes()
			if !bytes.HasPrefix(body, open(last)) {
				t.Fatalf("cached %v: request %d does not begin with request %d:\n%s\n%s", cached, n, n-1, body, last)
			}
			last = body
		}
	}
}

func TestEncode_OnlyBreakpointsMoveInTheNextRequest(t *testing.T) {
	messages := conversation(rand.New(rand.NewPCG(2, 1)), 50)
	r := &llm.Request{Model: "m", Tools: []llm.ToolDef{weather}, Cache: new(llm.Cache)}
	plain := &llm.Request{Model: "m", Tools: []llm.ToolDef{weather}, NoCache: true}
	for n := 1; n <= len(messages); n++ {
		r.Messages, plain.Messages = messages[:n], messages[:n]
		body := string(encode(t, r).Body.Bytes())
		if k := strings.Count(body, string(breakpoint)); k > 4 || k == 0 {
			t.Fatalf("request %d has %d breakpoints", n, k)
		}
		if got, want := strings.ReplaceAll(body, string(breakpoint), ""), string(encode(t, plain).Body.Bytes()); got != want {
			t.Fatalf("request %d differs in more than breakpoints:\n%s\n%s", n, got, want)
		}
	}
}

// TestEncode_CachedIsTheSameAsFromScratch extends, forks and truncates conversations at random.
func TestEncode_CachedIsTheSameAsFromScratch(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cache := new(llm.Cache)
		messages := conversation(rng, 3)
		type sent struct {
			body llm.Body
			want []byte
		}
		var bodies []sent
		for step := range 40 {
			switch rng.IntN(8) {
			case 0:
				messages = messages[:rng.IntN(len(messages)+1):len(messages)]
			case 1:
				messages = conversation(rng, 2)
			case 2:
				messages = append(messages, llm.Message{Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "psst"}}})
			default:
				messages = append(messages, turn(rng, step)...)
			}
			messages = messages[:len(messages):len(messages)]
			r := &llm.Request{Model: []string{"m", "n"}[rng.IntN(12)/11], Messages: messages, NoCache: rng.IntN(2) == 0}
			want := encode(t, r).Body.Bytes()
			r.Cache = cache
			got := encode(t, r).Body
			if !bytes.Equal(got.Bytes(), want) {
				t.Fatalf("seed %d, step %d: got %s\nwant %s", seed, step, got.Bytes(), want)
			}
			bodies = append(bodies, sent{got, want})
		}
		for i, b := range bodies {
			if !bytes.Equal(b.body.Bytes(), b.want) {
				t.Fatalf("seed %d: the body of step %d was changed later", seed, i)
			}
		}
	}
}

func TestEncode_Breakpoints(t *testing.T) {
	cc := `"cache_control":{"type":"ephemeral"}`
	long := []llm.Message{llm.SystemText("s"), hi, llm.AssistantText("a"), llm.UserText("b"), llm.AssistantText("c"), llm.UserText("d")}
	option := map[string]llm.Options{Name: {Body: map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}}
	own := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "x", State: llm.State{Dialect: Name, Data: []byte(`{"cache_control":{"type":"ephemeral","ttl":"1h"}}`)}}}}
	thinks := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "t"}, signed("x", "m")}}
	tests := []struct {
		name string
		r    llm.Request
		want []string // each stands once, and nothing else has a breakpoint
	}{
		{"system, the end before and the end", llm.Request{Messages: long}, []string{`"text":"s",` + cc, `"text":"b",` + cc, `"text":"d",` + cc}},
		{"tools without system", llm.Request{Tools: []llm.ToolDef{weather}, Messages: []llm.Message{hi}}, []string{`}}},` + cc, `"text":"hi",` + cc}},
		{"off", llm.Request{NoCache: true, Messages: long}, nil},
		{"the caller's option", llm.Request{Options: option, Messages: long}, nil},
		{"the caller's block", llm.Request{Messages: append(long[:3:3], own)}, nil},
		{"not on thinking", llm.Request{Messages: []llm.Message{hi, thinks}}, []string{`"text":"hi",` + cc, `"text":"t",` + cc}},
	}
	for _, tt := range tests {
		tt.r.Model = "m"
		body := encode(t, &tt.r).Body.Bytes()
		if n := strings.Count(string(body), cc) - len(tt.r.Options); n != len(tt.want) {
			t.Errorf("%s: there are %d breakpoints, want %d: %s", tt.name, n, len(tt.want), body)
		}
		for _, w := range tt.want {
			if !strings.Contains(string(body), w) {
				t.Errorf("%s: %s is missing in %s", tt.name, w, body)
			}
		}
	}
}

func TestEncode_AfterAFailureTheCacheStartsAfresh(t *testing.T) {
	r := &llm.Request{Model: "m", Cache: new(llm.Cache), Messages: []llm.Message{hi, llm.AssistantText("a"), {Role: llm.RoleUser, Parts: []llm.Part{llm.Image{}}}}}
	if _, err := testDialect(t).Encode(r); err == nil {
		t.Fatal("an image without data was accepted")
	}
	r.Messages = r.Messages[:2]
	if body := encode(t, r).Body.Bytes(); !bytes.Contains(body, []byte(`"hi"`)) {
		t.Errorf("the messages are gone: %s", body)
	}
}
