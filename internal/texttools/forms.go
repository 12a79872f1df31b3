package texttools

import (
	"encoding/json"
	"html"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// call is a tool call found in text.
type call struct{ name, arguments string }

// finder reads calls of known tools from text.
type finder struct{ tools map[string]llm.ToolDef }

func newFinder(tools []llm.ToolDef) *finder {
	f := &finder{tools: make(map[string]llm.ToolDef)}
	for _, t := range tools {
		if t.Name != "" {
			f.tools[t.Name] = t
		}
	}
	return f
}

// anthropic is the namespace of tags written by Claude models, and by models trained on them.
const anthropic = "ant" + "ml:"

// forms are the formats of calls: a marker, and the function that reads the text after it.
var forms = []struct {
	marker string
	read   func(f *finder, c *cursor) []call
}{
	{"<tool_call>", (*finder).tagged},
	{"<function=", (*finder).function},
	{"<invoke", func(f *finder, c *cursor) []call { return f.invoke(c, "") }},
	{"<｜DSML｜invoke", func(f *finder, c *cursor) []call { return f.invoke(c, "｜DSML｜") }},
	{"<" + anthropic + "invoke", func(f *finder, c *cursor) []call { return f.invoke(c, anthropic) }},
	{"<｜tool▁call▁begin｜>", (*finder).deepseek},
	{"<|tool_call_begin|>", (*finder).kimi},
	{"[TOOL_CALLS]", (*finder).mistral},
	{"<|python_tag|>", (*finder).llama},
	{"```", (*finder).fenced},
}

// wrappers enclose calls and are removed with them.
var wrappers = []struct{ open, close string }{
	{"<function_calls>", "</function_calls>"},
	{"<tool_calls>", "</tool_calls>"},
	{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>"},
	{"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"},
	{"<" + anthropic + "function_calls>", "</" + anthropic + "function_calls>"},
	{"<minimax:tool_call>", "</minimax:tool_call>"},
	{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
	{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
}

// mayBegin reports whether s starts with a marker or is the beginning of one. If first is set, no text precedes s.
func mayBegin(s string, first, final bool) bool {
	begins := func(marker string) bool {
		return strings.HasPrefix(s, marker) || !final && strings.HasPrefix(marker, s)
	}
	if first && (s[0] == '{' || s[0] == '[') {
		return true
	}
	for i := range forms {
		if begins(forms[i].marker) {
			return true
		}
	}
	for i := range wrappers {
		if begins(wrappers[i].open) {
			return true
		}
	}
	return false
}

// read reads the calls at the start of s and returns their length. If first is set, no text precedes s.
func (f *finder) read(s string, first, final bool) (n int, calls []call, v verdict) {
	if first && (s[0] == '{' || s[0] == '[') {
		c := &cursor{s: s, final: final}
		if calls := f.bare(c); c.verdict != none {
			return c.i, calls, c.verdict
		}
	}
	c := &cursor{s: s, final: final}
	for i := range wrappers {
		if w := &wrappers[i]; strings.HasPrefix(s, w.open) {
			c.i = len(w.open)
			calls = f.wrapped(c, w.close)
			return c.i, calls, c.verdict
		}
	}
	calls = f.marked(c)
	return c.i, calls, c.verdict
}

// marked reads calls after a marker.
func (f *finder) marked(c *cursor) []call {
	for i := range forms {
		if m := &forms[i]; strings.HasPrefix(c.rest(), m.marker) {
			c.i += len(m.marker)
			return m.read(f, c)
		}
	}
	if mayBegin(c.rest(), false, c.final) {
		c.end()
	}
	c.fail()
	return nil
}

// wrapped reads the calls in a wrapper. The end of the text closes it, too.
func (f *finder) wrapped(c *cursor, end string) (calls []call) {
	for c.ok() {
		c.space()
		if c.try(end) || c.done() {
			if len(calls) == 0 {
				c.fail()
			}
			return calls
		}
		if strings.HasPrefix(c.rest(), "{") || strings.HasPrefix(c.rest(), "[") && !strings.HasPrefix(c.rest(), "[T") {
			calls = append(calls, f.objects(c, false)...)
		} else if c.ok() {
			calls = append(calls, f.marked(c)...)
		}
	}
	return nil
}

// tagged reads the content of <tool_call>: JSON (Hermes, Qwen), a function tag (Qwen coder), or a name with keys and
// values (GLM). A text may end without the end tag.
func (f *finder) tagged(c *cursor) (calls []call) {
	c.space()
	switch rest := c.rest(); {
	case rest == "":
		c.end()
	case rest[0] == '{' || rest[0] == '[':
		calls = f.objects(c, false)
	case rest[0] == '<':
		c.lit("<function=")
		calls = f.function(c)
	default:
		return f.glm(c)
	}
	c.space()
	if !c.done() {
		c.lit("</tool_call>")
	}
	return calls
}

// mistral reads a list of calls, or a name and its arguments.
func (f *finder) mistral(c *cursor) []call {
	c.space()
	if strings.HasPrefix(c.rest(), "[") {
		return f.objects(c, false)
	}
	name := c.until("{", 128)
	if c.ok() {
		c.i--
	}
	name, _, _ = strings.Cut(name, "[ARGS]")
	name, _, _ = strings.Cut(name, "[CALL_ID]")
	return f.named(c, strings.TrimSpace(name))
}

// llama reads JSON calls separated by semicolons.
func (f *finder) llama(c *cursor) (calls []call) {
	for c.ok() {
		c.space()
		calls = append(calls, f.objects(c, false)...)
		at := c.i
		c.space()
		if c.i == len(c.s) && !c.final {
			c.end()
			return nil
		}
		if !strings.HasPrefix(c.rest(), ";") {
			c.i = at
			return calls
		}
		c.i++
	}
	return nil
}

// fenced reads a fenced block that contains only JSON calls.
func (f *finder) fenced(c *cursor) []call {
	switch strings.ToLower(strings.TrimSpace(c.until("\n", 12))) {
	case "", "json", "tool_call", "tool_calls", "tool_code", "tool":
	default:
		c.fail()
	}
	c.space()
	calls := f.objects(c, true)
	c.space()
	if !c.done() {
		c.lit("```")
	}
	return calls
}

// bare reads a text that contains only JSON calls.
func (f *finder) bare(c *cursor) (calls []call) {
	for c.ok() && !c.done() {
		calls = append(calls, f.objects(c, true)...)
		c.skip(" \t\r\n;,")
	}
	return calls
}

// deepseek reads a name, a separator and arguments, or in the older format "function", a separator, a name, and the
// arguments in a fenced block.
func (f *finder) deepseek(c *cursor) []call {
	name := strings.TrimSpace(c.until("<｜tool▁sep｜>", 128))
	fenced := name == "function"
	if fenced {
		name = strings.TrimSpace(c.until("\n", 128))
		c.lit("```json")
	}
	calls := f.named(c, name)
	if fenced {
		c.space()
		c.lit("```")
	}
	c.space()
	c.lit("<｜tool▁call▁end｜>")
	return calls
}

// kimi reads "functions.name:0" and arguments.
func (f *finder) kimi(c *cursor) []call {
	name := strings.TrimPrefix(strings.TrimSpace(c.until("<|tool_call_argument_begin|>", 160)), "functions.")
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	calls := f.named(c, name)
	c.space()
	c.lit("<|tool_call_end|>")
	return calls
}

// known fails unless the name is a tool's.
func (f *finder) known(c *cursor, name string) string {
	if _, known := f.tools[name]; !known {
		c.fail()
	}
	return name
}

// named reads a tool's arguments.
func (f *finder) named(c *cursor, name string) []call {
	f.known(c, name)
	c.space()
	return []call{{name, string(c.json("{"))}}
}

// objects reads a JSON call or an array of them. Strict requires arguments in every call, and fails early on JSON that
// does not start like a call.
func (f *finder) objects(c *cursor, strict bool) (calls []call) {
	if strict {
		c.callKey()
	}
	v := c.json("{[")
	if v.Kind() != '[' {
		return []call{f.object(c, v, strict)}
	}
	for it := v.Elements(); it.Next(); {
		calls = append(calls, f.object(c, it.Value, strict))
	}
	if len(calls) == 0 {
		c.fail()
	}
	return calls
}

// callKey fails if the first member of the first object ahead does not belong to a call.
func (c *cursor) callKey() {
	ahead := *c
	ahead.space()
	if strings.HasPrefix(ahead.rest(), "[") {
		ahead.i++
		ahead.space()
	}
	ahead.lit("{")
	ahead.space()
	ahead.lit(`"`)
	switch ahead.until(`"`, 16) {
	case "name", "tool", "tool_name", "function", "type", "id", "arguments", "parameters":
	default:
		ahead.fail()
	}
	c.verdict = ahead.verdict
}

// object returns the call in a JSON object.
func (f *finder) object(c *cursor, v wire.Value, strict bool) call {
	if inner := v.Get("function"); inner.Kind() == '{' {
		v = inner
	}
	var name string
	for _, key := range []string{"name", "tool_name", "tool", "function"} {
		if name = v.Get(key).Str(); name != "" {
			break
		}
	}
	f.known(c, name)
	for _, key := range []string{"arguments", "parameters", "args", "input"} {
		switch args := v.Get(key); args.Kind() {
		case '{':
			return call{name, string(args)}
		case '"':
			if inner, err := wire.ParseJSON([]byte(args.Str())); err != nil || inner.Kind() != '{' {
				c.fail()
			}
			return call{name, args.Str()}
		case 'n':
			return call{name, "{}"}
		}
	}
	if strict {
		c.fail()
	}
	return call{name, "{}"}
}

// function reads a name, then JSON or parameter tags.
func (f *finder) function(c *cursor) []call {
	name := f.known(c, strings.Trim(strings.TrimSpace(c.until(">", 128)), `"'`))
	c.space()
	if strings.HasPrefix(c.rest(), "{") {
		calls := f.named(c, name)
		c.space()
		c.lit("</function>")
		return calls
	}
	var args arguments
	for c.ok() {
		c.space()
		if c.try("</function>") {
			break
		}
		c.lit("<parameter=")
		key := strings.Trim(c.until(">", 128), `"' `)
		value := c.until("</parameter>", 0)
		args.add(key, f.typed(name, key, strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")))
	}
	return []call{{name, args.object()}}
}

// invoke reads attributes, then parameter tags in a namespace.
func (f *finder) invoke(c *cursor, ns string) []call {
	name := f.known(c, attribute(c.until(">", 256), "name"))
	var args arguments
	for c.ok() {
		c.space()
		if c.try("</" + ns + "invoke>") {
			break
		}
		c.lit("<" + ns + "parameter")
		tag := c.until(">", 256)
		value := c.until("</"+ns+"parameter>", 0)
		key := attribute(tag, "name")
		if key == "" {
			c.fail()
		}
		if attribute(tag, "string") == "true" {
			args.add(key, quoted(value))
		} else {
			args.add(key, f.typed(name, key, value))
		}
	}
	return []call{{name, args.object()}}
}

// attribute returns an attribute's value in a tag.
func attribute(tag, name string) string {
	for _, quote := range []string{`"`, "'"} {
		if _, rest, ok := strings.Cut(tag, " "+name+"="+quote); ok {
			if value, _, closed := strings.Cut(rest, quote); closed {
				return html.UnescapeString(value)
			}
		}
	}
	return ""
}

// glm reads a name, then pairs of <arg_key> and <arg_value>. A text may end without the end tag.
func (f *finder) glm(c *cursor) []call {
	n := strings.IndexAny(c.rest(), "<\n")
	if n < 0 {
		if len(c.rest()) > 128 {
			c.fail()
		}
		c.end()
		return nil
	}
	name := f.known(c, strings.TrimSpace(c.rest()[:n]))
	c.i += n
	var args arguments
	for c.ok() {
		c.space()
		if c.try("</tool_call>") || c.done() {
			break
		}
		c.lit("<arg_key>")
		key := c.until("</arg_key>", 128)
		c.space()
		c.lit("<arg_value>")
		args.add(key, f.typed(name, key, c.until("</arg_value>", 0)))
	}
	return []call{{name, args.object()}}
}

// typed returns the JSON for a value written as plain text: a string if the tool's schema requires one, otherwise the
// JSON it contains, if any.
func (f *finder) typed(tool, key, value string) []byte {
	schema, err := wire.ParseJSON(f.tools[tool].Parameters)
	if err == nil && schema.Get("properties", key, "type").Is("string") || f.tools[tool].Freeform != nil {
		return quoted(value)
	}
	if v, err := wire.ParseJSON([]byte(value)); err == nil {
		return v
	}
	return quoted(value)
}

func quoted(s string) []byte { return wire.AppendString(nil, s) }

// arguments collects parameters in order. A repeated one has its last value.
type arguments struct {
	keys   []string
	values map[string]json.RawMessage
}

func (a *arguments) add(key string, value []byte) {
	if a.values == nil {
		a.values = make(map[string]json.RawMessage)
	}
	if _, repeated := a.values[key]; !repeated {
		a.keys = append(a.keys, key)
	}
	a.values[key] = value
}

func (a *arguments) object() string {
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
