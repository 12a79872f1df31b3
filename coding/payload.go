package coding

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// payloads holds the schemas that payload has made, for all sessions to share.
var payloads sync.Map // of the fields, joined, to json.RawMessage

// payload is the schema of what a tool returns: the output and the fields beside it, each given as
// "name type".
func payload(fields ...string) json.RawMessage {
	key := strings.Join(fields, ",")
	schema, known := payloads.Load(key)
	if !known {
		schema, _ = payloads.LoadOrStore(key, newPayload(fields))
	}
	return schema.(json.RawMessage)
}

func newPayload(fields []string) json.RawMessage {
	text := map[string]any{"type": "string"}
	properties := map[string]any{"output": text, "model_output": text}
	for _, f := range fields {
		name, kind, _ := strings.Cut(f, " ")
		properties[name] = map[string]any{"type": kind}
	}
	b, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"output", "model_output"}})
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return b
}

// plural is a number of things in words.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
