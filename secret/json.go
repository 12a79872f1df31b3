package secret

import (
	"bytes"
	"encoding/json"
)

// JSON redacts strings in a JSON value, and the values of fields with secret names. Everything else, including field
// order, stays the same. Text that is not JSON is redacted as text.
func (r *Redactor) JSON(value []byte) []byte { return r.json(value, true) }

// Strings redacts strings in a JSON value as JSON does, but ignores field names.
func (r *Redactor) Strings(value []byte) []byte { return r.json(value, false) }

func (r *Redactor) json(value []byte, names bool) []byte {
	if r == nil {
		return value
	}
	if !json.Valid(value) {
		return []byte(r.Text(string(value)))
	}
	var out []byte
	field, done := "", 0
	for i := 0; i < len(value); i++ {
		if value[i] != '"' {
			continue
		}
		end := i + 1
		for value[end] != '"' {
			if value[end] == '\\' {
				end++
			}
			end++
		}
		end++
		var text string
		_ = json.Unmarshal(value[i:end], &text) // it is valid
		isName := bytes.HasPrefix(bytes.TrimLeft(value[end:], " \t\r\n"), []byte(":"))
		if replacement := r.field(field, text, isName || !names); replacement != text {
			out = append(append(out, value[done:i]...), encode(replacement)...)
			done = end
		}
		if isName {
			field = text
		}
		i = end - 1
	}
	if out == nil {
		return value
	}
	return append(out, value[done:]...)
}

// field returns a field value, redacted. Unless anyName is set, the result depends on the field name.
func (r *Redactor) field(name, text string, anyName bool) string {
	if anyName {
		return r.Text(text)
	}
	if t := r.trust(name); text != "" && placeholders().FindString(text) != text &&
		(t == strongName || t == weakName && !plainWord().MatchString(text)) {
		return placeholder(name)
	}
	return r.Text(text)
}

func encode(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // encoding a string cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
