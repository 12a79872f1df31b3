// Package protocol has the streamed answers of the scripted models in the benchmarks, as text. It does not parse requests.
package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Protocol encodes a model API's streamed answers.
type Protocol struct {
	Call func(id, tool, args string) string // an answer that asks for a tool call

	// An answer with a text is Begin, any number of Delta, and End, which repeats the whole text.
	Begin string
	Delta func(text string) string
	End   func(text string) string
}

// Say returns an answer with a text.
func (p Protocol) Say(text string) string { return p.Begin + p.Delta(text) + p.End(text) }

// Protocols by API.
var (
	Responses       = Protocol{responsesCall, responsesHead + responsesOpen, responsesDelta, responsesEnd}
	Messages        = Protocol{messagesCall, messagesHead + messagesOpen, messagesDelta, messagesStop}
	GenerateContent = Protocol{generateCall, "", generateDelta, generateFinish}
)

// Of returns the protocol for a request path.
func Of(path string) (Protocol, bool) {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return Responses, true
	case strings.HasSuffix(path, "/messages"):
		return Messages, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return GenerateContent, true
	}
	return Protocol{}, false
}

// ToolSight is a writer that finds out whether a request has tools. Requests without tools are not part of the
// conversation: they ask for a title, for example.
type ToolSight struct {
	Seen bool
	tail []byte
}

func (t *ToolSight) Write(p []byte) (int, error) {
	const sign = `"tools":[{`
	if !t.Seen {
		t.tail = append(t.tail, p...)
		t.Seen = bytes.Contains(t.tail, []byte(sign))
		t.tail = append(t.tail[:0], t.tail[max(0, len(t.tail)-len(sign)):]...)
	}
	return len(p), nil
}

// fill replaces "$1", "$2" and so on in a template by JSON strings, and $1, $2 by the plain values.
func fill(template string, values ...string) string {
	var pairs []string
	for i, v := range values {
		place := "$" + string(rune('1'+i))
		quoted, _ := json.Marshal(v)
		pairs = append(pairs, `"`+place+`"`, string(quoted), place, v)
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

const responsesHead = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"bench","output":[]}}

`

const responsesUsage = `"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":90},"output_tokens":10,` +
	`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":110}`

func responsesCall(id, tool, args string) string {
	return fill(responsesHead+`event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"function_call","id":"fc_$1","call_id":"$1","name":"$2","arguments":"","status":"in_progress"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_$1","output_index":0,"delta":"$3"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":3,"item_id":"fc_$1","output_index":0,"arguments":"$3"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"type":"function_call","id":"fc_$1","call_id":"$1","name":"$2","arguments":"$3","status":"completed"}}

event: response.completed
data: {"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","object":"response","status":"completed","model":"bench","output":[{"type":"function_call","id":"fc_$1","call_id":"$1","name":"$2","arguments":"$3","status":"completed"}],`+responsesUsage+`}}

`, id, tool, args)
}

const responsesOpen = `event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

`

func responsesDelta(text string) string {
	return fill(`event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"$1"}

`, text)
}

func responsesEnd(text string) string {
	return fill(`event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"text":"$1"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"$1","annotations":[]}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":6,"response":{"id":"resp_1","object":"response","status":"completed","model":"bench","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"$1","annotations":[]}]}],`+responsesUsage+`}}

`, text)
}

const messagesHead = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":1}}}

`

const messagesEnd = `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"$1","stop_sequence":null},"usage":{"output_tokens":10}}

event: message_stop
data: {"type":"message_stop"}

`

func messagesCall(id, tool, args string) string {
	return fill(messagesHead+`event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"$1","name":"$2","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"$3"}}

`, "toolu_"+id, tool, args) + fill(messagesEnd, "tool_use")
}

const messagesOpen = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`

func messagesStop(string) string { return fill(messagesEnd, "end_turn") }

func messagesDelta(text string) string {
	return fill(`event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"$1"}}

`, text)
}

const generateEnd = `"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":10,"totalTokenCount":110},"modelVersion":"bench"}

`

func generateCall(_, tool, args string) string {
	start := `data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"$1","args":$2}}]},`
	return fill(start, tool, args) + generateEnd
}

func generateDelta(text string) string {
	return fill(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"$1"}]},"index":0}]}

`, text)
}

func generateFinish(string) string {
	return `data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},` + generateEnd
}
