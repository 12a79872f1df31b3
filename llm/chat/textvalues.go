package chat

import (
	"encoding/json"
	"html"
	"strings"

	"github.com/reins-agent/reins/llm/wire"
)

// named reads the arguments of a tool whose name is read already.
func (f *finder) named(c *cursor, name string) ([]textCall, verdict) {
	if _, known := f.tools[name]; !known {
		return nil, none
	}
	c.space()
	if rest := c.rest(); rest != "" && rest[0] != '{' {
		return nil, none
	}
	v, verdict := c.json()
	if verdict != match {
		return nil, verdict
	}
	return []textCall{{name, string(v)}}, match
}

// objects reads JSON calls: one object, or an array of them. Strict wants every call to have
// arguments, and gives up early on JSON that begins otherwise.
func (f *finder) objects(c *cursor, strict bool) ([]textCall, verdict) {
	if v := callKey(c); strict && v != match {
		return nil, v
	}
	value, v := c.json()
	if v != match {
		return nil, v
	}
	calls := f.fromJSON(value, strict)
	if len(calls) == 0 {
		return nil, none
	}
	return calls, match
}

// callKey looks ahead at the first member of an object, or of the first object of an array: does
// it look like a call?
func callKey(c *cursor) verdict {
	ahead := *c
	ahead.space()
	if strings.HasPrefix(ahead.rest(), "[") {
		ahead.i++
		ahead.space()
	}
	if v := ahead.lit("{"); v != match {
		return v
	}
	ahead.space()
	if v := ahead.lit(`"`); v != match {
		return v
	}
	key, v := ahead.until(`"`, 16)
	if v != match {
		return v
	}
	switch key {
	case "name", "tool", "tool_name", "function", "type", "id", "arguments", "parameters":
		return match
	}
	return none
}

// fromJSON makes calls of an object or of an array of objects. One that is no call of a known tool
// makes it none.
func (f *finder) fromJSON(v wire.Value, strict bool) []textCall {
	if v.Kind() == '[' {
		var calls []textCall
		for it := v.Elements(); it.Next(); {
			c, ok := f.fromObject(it.Value, strict)
			if !ok {
				return nil
			}
			calls = append(calls, c)
		}
		return calls
	}
	if c, ok := f.fromObject(v, strict); ok {
		return []textCall{c}
	}
	return nil
}

func (f *finder) fromObject(v wire.Value, strict bool) (textCall, bool) {
	if inner := v.Get("function"); inner.Kind() == '{' {
		v = inner
	}
	var name string
	for _, key := range []string{"name", "tool_name", "tool", "function"} {
		if name = v.Get(key).Str(); name != "" {
			break
		}
	}
	if _, known := f.tools[name]; !known {
		return textCall{}, false
	}
	for _, key := range []string{"arguments", "parameters", "args", "input"} {
		switch args := v.Get(key); args.Kind() {
		case '{':
			return textCall{name, string(args)}, true
		case '"':
			inner, err := wire.ParseJSON([]byte(args.Str()))
			return textCall{name, args.Str()}, err == nil && inner.Kind() == '{'
		case 'n':
			return textCall{name, "{}"}, true
		}
	}
	return textCall{name, "{}"}, !strict
}

// function reads a call behind "<function=": its name, then JSON or parameter tags.
func (f *finder) function(c *cursor) (textCall, verdict) {
	name, v := c.until(">", 128)
	if v != match {
		return textCall{}, v
	}
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	if _, known := f.tools[name]; !known {
		return textCall{}, none
	}
	c.space()
	if strings.HasPrefix(c.rest(), "{") {
		calls, v := f.named(c, name)
		if v != match {
			return textCall{}, v
		}
		c.space()
		return calls[0], c.lit("</function>")
	}
	var args parameters
	for {
		c.space()
		switch v := c.lit("</function>"); v {
		case match:
			return textCall{name, args.object()}, match
		case more:
			return textCall{}, more
		}
		if v := c.lit("<parameter="); v != match {
			return textCall{}, v
		}
		key, v := c.until(">", 128)
		if v != match {
			return textCall{}, v
		}
		value, v := c.until("</parameter>", 0)
		if v != match {
			return textCall{}, v
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		args.add(strings.Trim(key, `"' `), f.typed(name, strings.Trim(key, `"' `), value))
	}
}

// invoke reads a call behind "<invoke" of a namespace: attributes, then parameter tags.
func invoke(ns string) func(*finder, *cursor) ([]textCall, verdict) {
	return one(func(f *finder, c *cursor) (textCall, verdict) {
		tag, v := c.until(">", 256)
		if v != match {
			return textCall{}, v
		}
		name := attribute(tag, "name")
		if _, known := f.tools[name]; !known {
			return textCall{}, none
		}
		var args parameters
		for {
			c.space()
			switch v := c.lit("</" + ns + "invoke>"); v {
			case match:
				return textCall{name, args.object()}, match
			case more:
				return textCall{}, more
			}
			if v := c.lit("<" + ns + "parameter"); v != match {
				return textCall{}, v
			}
			tag, v := c.until(">", 256)
			if v != match {
				return textCall{}, v
			}
			value, v := c.until("</"+ns+"parameter>", 0)
			if v != match {
				return textCall{}, v
			}
			key := attribute(tag, "name")
			if key == "" {
				return textCall{}, none
			}
			if attribute(tag, "string") == "true" {
				args.add(key, quoted(value))
			} else {
				args.add(key, f.typed(name, key, value))
			}
		}
	})
}

// attribute is the value of an attribute of a tag.
func attribute(tag, name string) string {
	for _, quote := range []string{`"`, "'"} {
		if _, rest, ok := strings.Cut(tag, " "+name+"="+quote); ok {
			value, _, closed := strings.Cut(rest, quote)
			if closed {
				return html.UnescapeString(value)
			}
		}
	}
	return ""
}

// glm reads a name followed by pairs of <arg_key> and <arg_value>.
func (f *finder) glm(c *cursor) (textCall, verdict) {
	n := strings.IndexAny(c.rest(), "<\n")
	if n < 0 {
		if len(c.rest()) > 128 {
			return textCall{}, none
		}
		return textCall{}, c.end()
	}
	name := strings.TrimSpace(c.rest()[:n])
	if _, known := f.tools[name]; !known {
		return textCall{}, none
	}
	c.i += n
	var args parameters
	for {
		c.space()
		switch v := c.lit("</tool_call>"); {
		case v == match || c.done():
			return textCall{name, args.object()}, match
		case v == more:
			return textCall{}, more
		}
		if v := c.lit("<arg_key>"); v != match {
			return textCall{}, v
		}
		key, v := c.until("</arg_key>", 128)
		if v != match {
			return textCall{}, v
		}
		c.space()
		if v := c.lit("<arg_value>"); v != match {
			return textCall{}, v
		}
		value, v := c.until("</arg_value>", 0)
		if v != match {
			return textCall{}, v
		}
		args.add(key, f.typed(name, key, value))
	}
}

// typed is the JSON for a value that was printed as plain text. What the tool's schema calls a
// string is one; otherwise what reads as JSON is JSON.
func (f *finder) typed(tool, key, value string) []byte {
	schema, err := wire.ParseJSON(f.tools[tool].Parameters)
	if err == nil {
		if kind := schema.Get("properties", key, "type"); kind.Is("string") {
			return quoted(value)
		}
	}
	if v, err := wire.ParseJSON([]byte(value)); err == nil && f.tools[tool].Freeform == nil {
		return v
	}
	return quoted(value)
}

func quoted(s string) []byte { return wire.AppendString(nil, s) }

// parameters builds the arguments of a call from parameters. One that comes twice counts once,
// with its last value.
type parameters struct {
	keys   []string
	values map[string]json.RawMessage
}

func (a *parameters) add(key string, value []byte) {
	if a.values == nil {
		a.values = make(map[string]json.RawMessage)
	}
	if _, twice := a.values[key]; !twice {
		a.keys = append(a.keys, key)
	}
	a.values[key] = value
}

func (a *parameters) object() string {
	b := []byte{'{'}
	for i, key := range a.keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendString(b, key), ':')
		b = append(b, a.values[key]...)
	}
	return string(append(b, '}'))
}
