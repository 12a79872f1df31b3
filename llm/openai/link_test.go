package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// outputItems are an answer's items: two groups, each with reasoning.
var outputItems = []string{
	`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"one"}`,
	`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`,
	`{"type":"message","role":"assistant","id":"msg_1","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Looking."}]}`,
	`{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}","id":"fc_1","status":"completed"}`,
	`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"two"}`,
	`{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"three"}`,
	`{"type":"function_call","call_id":"c2","name":"f","arguments":"{\"a\":2}","id":"fc_2","status":"completed"}`,
	`{"type":"custom_tool_call","call_id":"c3","name":"g","input":"text","id":"ct_3","status":"completed"}`,
	`{"type":"reasoning","id":"rs_4","summary":[],"encrypted_content":"four"}`,
	`{"type":"message","role":"assistant","id":"msg_4","status":"completed","phase":"final_answer","content":[{"type":"output_text","text":"Done."}]}`,
}

// required has the reasoning that the API requires before an item with the id, and the item it requires after reasoning.
var (
	requiredBefore = map[string]string{
		"ws_1": "rs_1", "msg_1": "rs_1", "fc_1": "rs_1", "fc_2": "rs_3", "ct_3": "rs_3", "msg_4": "rs_4",
	}
	requiredAfter = map[string]string{"rs_1": "ws_1", "rs_2": "rs_3", "rs_3": "fc_2", "rs_4": "msg_4"}
)

// answers returns the answer as messages, decoded from a stream and as a whole, before and after it was stored.
func answers(t *testing.T) []llm.Message {
	t.Helper()
	response := `{"id":"r","status":"completed","output":[` + strings.Join(outputItems, ",") + `]}`
	events := []string{created}
	for i, it := range outputItems {
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, it))
	}
	var all []llm.Message
	for _, stream := range []bool{false, true} {
		body := []byte(response)
		if stream {
			body = sse(append(events, `{"type":"response.completed","response":`+response+`}`)...)
		}
		resp, _, err := decode(200, nil, body, stream)
		if err != nil {
			t.Fatal(err)
		}
		m := forModel(resp.Message)
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var stored llm.Message
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		all = append(all, m, stored)
	}
	return all
}

// forModel returns m as an answer from the model in these tests.
func forModel(m llm.Message) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			p.State.Model = model
			m.Parts[i] = p
		case llm.ToolCall:
			p.State.Model = model
			m.Parts[i] = p
		case llm.Thinking:
			p.State.Model = model
			m.Parts[i] = p
		case llm.Opaque:
			p.State.Model = model
			m.Parts[i] = p
		}
	}
	return m
}

// inputOf returns the request's input items for the messages.
func inputOf(t *testing.T, model string, messages ...llm.Message) (items []map[string]any) {
	t.Helper()
	var got struct{ Input []map[string]any }
	if err := json.Unmarshal(body(t, &llm.Request{Model: model, Messages: messages}), &got); err != nil {
		t.Fatal(err)
	}
	return got.Input
}

func TestEncode_AnswerGoesBackAsItCame(t *testing.T) {
	var want []map[string]any
	if err := json.Unmarshal([]byte("["+strings.Join(outputItems, ",")+"]"), &want); err != nil {
		t.Fatal(err)
	}
	for i, m := range answers(t) {
		if got := inputOf(t, model, m); !reflect.DeepEqual(got, want) {
			t.Errorf("answer %d:\n got %v\nwant %v", i, got, want)
		}
	}
}

// edit changes a message in one random way.
func edit(rnd *rand.Rand, m llm.Message) (llm.Message, string) {
	parts := slices.Clone(m.Parts)
	i := rnd.IntN(len(parts))
	name := fmt.Sprintf("%T %d", parts[i], i)
	if _, whole := parts[i].(llm.Opaque); whole || isThinking(parts[i]) || rnd.IntN(2) == 0 {
		return llm.Message{Role: m.Role, Parts: slices.Delete(parts, i, i+1)}, "without " + name
	}
	if rnd.IntN(3) == 0 {
		parts[i] = llm.Text{Text: "[removed]"}
		return llm.Message{Role: m.Role, Parts: parts}, "with replaced " + name
	}
	switch p := parts[i].(type) {
	case llm.Text:
		p.Text += " Edited."
		parts[i] = p
	case llm.ToolCall:
		p.Arguments = `{"edited":true}`
		parts[i] = p
	}
	return llm.Message{Role: m.Role, Parts: parts}, "with changed " + name
}

func isThinking(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok }

func TestEncode_EditedAnswersKeepReasoningAndItemsTogether(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	all := answers(t)
	for range 3000 {
		m := all[rnd.IntN(len(all))]
		var edits []string
		for range 1 + rnd.IntN(4) {
			if len(m.Parts) > 0 {
				var name string
				m, name = edit(rnd, m)
				edits = append(edits, name)
			}
		}
		items := inputOf(t, model, llm.UserText("q"), m, llm.UserText("q"))
		if wrong := violation(items); wrong != "" {
			t.Fatalf("%v: %s in %v", edits, wrong, items)
		}
	}
}

// violation returns the rule that the items break, or "".
func violation(items []map[string]any) string {
	before := "" // the last reasoning
	for i, it := range items {
		id, _ := it["id"].(string)
		if it["type"] == "reasoning" {
			before = id
			if i+1 == len(items) || items[i+1]["id"] != requiredAfter[id] {
				return id + " was provided without its required following item"
			}
		} else if id != "" && requiredBefore[id] != before {
			return id + " was provided without its required reasoning item"
		}
		if strings.Contains(fmt.Sprint(it["arguments"], it["content"]), "dited") && id != "" {
			return id + " was edited"
		}
	}
	return ""
}

func TestEncode_EditedAnswersLoseOnlyRefusedItems(t *testing.T) {
	whole := answers(t)[0]
	without := func(drop ...int) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant}
		for i, p := range whole.Parts {
			if !slices.Contains(drop, i) {
				m.Parts = append(m.Parts, p)
			}
		}
		return m
	}
	changed := without()
	call := changed.Parts[3].(llm.ToolCall)
	call.Arguments = "{}"
	changed.Parts[3] = call
	replaced := without()
	replaced.Parts[6] = llm.ToolCall{ID: "c2", Name: "f", Arguments: "{}"}
	replaced.Parts[9] = llm.Text{Text: "[removed]"}
	for name, c := range map[string]struct {
		message llm.Message
		model   string
		want    string
	}{
		"whole":                       {without(), model, "rs_1 ws_1 msg_1 fc_1 rs_2 rs_3 fc_2 ct_3 rs_4 msg_4"},
		"first reasoning removed":     {without(0), model, "message/commentary function_call rs_2 rs_3 fc_2 ct_3 rs_4 msg_4"},
		"last of two removed":         {without(5), model, "rs_1 ws_1 msg_1 fc_1 function_call custom_tool_call rs_4 msg_4"},
		"first call of a pair gone":   {without(6), model, "rs_1 ws_1 msg_1 fc_1 custom_tool_call rs_4 msg_4"},
		"second call of a pair gone":  {without(7), model, "rs_1 ws_1 msg_1 fc_1 rs_2 rs_3 fc_2 rs_4 msg_4"},
		"final text removed":          {without(9), model, "rs_1 ws_1 msg_1 fc_1 rs_2 rs_3 fc_2 ct_3"},
		"arguments changed":           {changed, model, "rs_1 ws_1 msg_1 function_call rs_2 rs_3 fc_2 ct_3 rs_4 msg_4"},
		"parts replaced":              {replaced, model, "rs_1 ws_1 msg_1 fc_1 function_call custom_tool_call message"},
		"all thinking removed":        {without(0, 4, 5, 8), model, "message/commentary function_call function_call custom_tool_call message/final_answer"},
		"another model gets no state": {without(), "gpt-5.4", "message function_call function_call custom_tool_call message"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, it := range inputOf(t, c.model, c.message) {
				id, _ := it["id"].(string)
				if id == "" {
					id = it["type"].(string)
					if phase, ok := it["phase"]; ok {
						id += "/" + phase.(string)
					}
				}
				got = append(got, id)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("\n got %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestDecode_LinksFollowTheWholeResponsesIDs(t *testing.T) {
	const item = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}","id":"fc_1"}`
	resp, _, err := decode(200, nil, sse(created,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_a","summary":[],"encrypted_content":"x"}}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+item+`}`,
		`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","id":"rs_b","summary":[],"encrypted_content":"y"},`+item+`]}}`,
	), true)
	if err != nil {
		t.Fatal(err)
	}
	items := inputOf(t, model, forModel(resp.Message))
	if len(items) != 2 || items[0]["id"] != "rs_b" || items[1]["id"] != "fc_1" {
		t.Errorf("got %v, want rs_b and fc_1", items)
	}
}

func TestDecode_PhaseWhenTextWasOnlyStreamed(t *testing.T) {
	resp, _, err := decode(200, nil, sse(created,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","phase":"final_answer","content":[]}}`,
		`{"type":"response.completed","response":{"status":"completed","output":[]}}`,
	), true)
	if err != nil {
		t.Fatal(err)
	}
	items := inputOf(t, model, forModel(resp.Message))
	if len(items) != 1 || items[0]["phase"] != "final_answer" {
		t.Errorf("got %v, want the phase", items)
	}
}
