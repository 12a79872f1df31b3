package llm

import (
	"encoding/base64"

	"github.com/reins-agent/reins/internal/jsonscan"
)

// readMessage is a fast path for messages in the form that MarshalJSON writes. It reports false for any other.
// It reads the members in the order of messageJSON, partJSON and stateJSON.
func readMessage(data []byte) (Message, bool) {
	var m Message
	r := jsonscan.Read(data)
	r.Open("{")
	if r.Member("role") {
		m.Role = Role(r.Text())
	}
	if r.Member("parts") {
		m.Parts = readParts(&r, true)
	}
	r.Close("}")
	return m, r.Done()
}

// readParts reads parts. Only with nested may they contain parts themselves.
func readParts(r *jsonscan.Reader, nested bool) []Part {
	var parts []Part
	r.Open("[")
	for r.More() {
		parts = append(parts, readPart(r, nested))
	}
	r.Close("]")
	return parts
}

func readPart(r *jsonscan.Reader, nested bool) Part {
	var j partJSON
	var parts []Part
	r.Open("{")
	readText(r, "type", &j.Type)
	readText(r, "text", &j.Text)
	readText(r, "id", &j.ID)
	readText(r, "name", &j.Name)
	if r.Member("arguments") {
		arguments := r.Text()
		j.Arguments = &arguments
	}
	j.Custom = r.Member("custom") && r.True()
	j.Redacted = r.Member("redacted") && r.True()
	j.IsError = r.Member("is_error") && r.True()
	if nested && r.Member("parts") {
		parts = readParts(r, false)
	}
	readText(r, "kind", &j.Kind)
	readText(r, "mime", &j.MIME)
	readBytes(r, "data", &j.Data)
	readText(r, "url", &j.URL)
	readText(r, "path", &j.Path)
	readText(r, "detail", &j.Detail)
	if r.Member("state") {
		state := readState(r)
		j.State = &state
	}
	r.Close("}")
	p := j.part(parts)
	if p == nil || j.Type == "tool_change" || len(parts) > 0 && j.Type != "tool_result" {
		r.Fail()
	}
	return p
}

func readState(r *jsonscan.Reader) State {
	var j stateJSON
	r.Open("{")
	readText(r, "dialect", &j.Dialect)
	readText(r, "model", &j.Model)
	readText(r, "data", &j.Data)
	readBytes(r, "base64", &j.Base64)
	r.Close("}")
	return j.state()
}

func readText(r *jsonscan.Reader, name string, text *string) {
	if r.Member(name) {
		*text = r.Text()
	}
}

func readBytes(r *jsonscan.Reader, name string, data *[]byte) {
	if !r.Member(name) {
		return
	}
	b, err := base64.StdEncoding.DecodeString(r.Text())
	if err != nil || len(b) == 0 {
		r.Fail()
		return
	}
	*data = b
}
