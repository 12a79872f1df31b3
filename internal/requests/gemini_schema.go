package requests

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// jsonSchema converts a schema in the API's form, OpenAPI with types in capitals, to JSON Schema.
func jsonSchema(v wire.Value) json.RawMessage {
	var e wire.Encoder
	writeSchema(&e, v)
	return e.Buf
}

func writeSchema(e *wire.Encoder, v wire.Value) {
	if v.Kind() != '{' {
		e.Raw(v)
		return
	}
	nullable := v.Get("nullable").Bool()
	e.Open('{')
	for m := v.Members(); m.Next(); {
		key := wire.Camel(m.Key)
		if key == "nullable" && nullable && v.Get("type").Exists() {
			continue
		}
		e.Str(key)
		e.Buf = append(e.Buf, ':')
		switch key {
		case "type":
			writeType(e, m.Value, nullable)
		case "properties", "$defs", "defs":
			e.Open('{')
			for p := m.Value.Members(); p.Next(); {
				e.Str(string(p.Key))
				e.Buf = append(e.Buf, ':')
				writeSchema(e, p.Value)
			}
			e.Close('}')
		case "anyOf", "oneOf", "allOf", "prefixItems":
			e.Open('[')
			for it := m.Value.Elements(); it.Next(); {
				writeSchema(e, it.Value)
			}
			e.Close(']')
		case "items", "additionalProperties":
			writeSchema(e, m.Value)
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			e.Raw(unquoted(m.Value))
		default:
			e.Raw(m.Value)
		}
	}
	e.Close('}')
}

// typeNumbers maps the numbers of types, which some clients send.
var typeNumbers = map[string]string{
	"1": "string", "2": "number", "3": "integer", "4": "boolean", "5": "array", "6": "object", "7": "null",
}

func writeType(e *wire.Encoder, v wire.Value, nullable bool) {
	word := strings.ToLower(v.Str())
	if v.Kind() == '0' {
		word = typeNumbers[string(v)]
	}
	switch {
	case word == "":
		e.Raw(v)
	case nullable:
		e.Open('[')
		e.Str(word)
		e.Str("null")
		e.Close(']')
	default:
		e.Str(word)
	}
}

// unquoted returns a number that may be in a string, like 64-bit numbers.
func unquoted(v wire.Value) wire.Value {
	if n, err := strconv.ParseInt(v.Str(), 10, 64); err == nil {
		return strconv.AppendInt(nil, n, 10)
	}
	return v
}
