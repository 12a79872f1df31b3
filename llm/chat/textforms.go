package chat

import (
	"strings"

	"github.com/reins-agent/reins/llm"
)

// textCall is a tool call found in text.
type textCall struct{ name, arguments string }

// finder reads tool calls of known tools out of text.
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

// anthropic is the namespace in which Claude models, and those taught by them, write their tags.
const anthropic = "ant" + "ml:"

// form is a way to print a call: behind its marker read reads on.
type form struct {
	marker string
	read   func(f *finder, c *cursor) ([]textCall, verdict)
}

// forms are the ways to print calls. Where one marker begins another, the longer one stands first.
var forms = []form{
	{"<tool_call>", (*finder).tagged},
	{"<function=", one((*finder).function)},
	{"<invoke", invoke("")},
	{"<｜DSML｜invoke", invoke("｜DSML｜")},
	{"<" + anthropic + "invoke", invoke(anthropic)},
	{"<｜tool▁call▁begin｜>", one((*finder).deepseek)},
	{"<|tool_call_begin|>", one((*finder).kimi)},
	{"[TOOL_CALLS]", (*finder).mistral},
	{"<|python_tag|>", (*finder).llama},
	{"```", (*finder).fenced},
}

// wrappers stand around calls and go with them.
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

// mayBegin reports whether s begins with a marker, or with what may become one.
func (f *finder) mayBegin(s string, first, final bool) bool {
	if first && (s[0] == '{' || s[0] == '[') {
		return true
	}
	for i := range forms {
		if begins(s, forms[i].marker, final) {
			return true
		}
	}
	for i := range wrappers {
		if begins(s, wrappers[i].open, final) {
			return true
		}
	}
	return false
}

func begins(s, marker string, final bool) bool {
	return strings.HasPrefix(s, marker) || !final && len(s) < len(marker) && strings.HasPrefix(marker, s)
}

// read reads the calls at the start of s and says how long they are. First is set where nothing
// stands before s.
func (f *finder) read(s string, first, final bool) (n int, calls []textCall, v verdict) {
	if first && (s[0] == '{' || s[0] == '[') {
		c := &cursor{s: s, final: final}
		if calls, v := f.bare(c); v != none {
			return c.i, calls, v
		}
	}
	undecided := false
	for i := range wrappers {
		c := &cursor{s: s, final: final}
		switch c.lit(wrappers[i].open) {
		case match:
			calls, v := f.wrapped(c, wrappers[i].close)
			return c.i, calls, v
		case more:
			undecided = true
		}
	}
	c := &cursor{s: s, final: final}
	calls, v = f.single(c)
	if v == none && undecided {
		v = more
	}
	return c.i, calls, v
}

// single reads one form.
func (f *finder) single(c *cursor) ([]textCall, verdict) {
	undecided := false
	for i := range forms {
		switch c.lit(forms[i].marker) {
		case match:
			return forms[i].read(f, c)
		case more:
			undecided = true
		}
	}
	if undecided {
		return nil, more
	}
	return nil, none
}

// wrapped reads the calls within a wrapper. A wrapper that nothing closes is closed by the end.
func (f *finder) wrapped(c *cursor, end string) (calls []textCall, v verdict) {
	for {
		c.space()
		switch v := c.lit(end); {
		case v == match && len(calls) > 0, c.done() && len(calls) > 0:
			return calls, match
		case v == match:
			return nil, none
		case v == more:
			return nil, more
		}
		if c.i == len(c.s) {
			return nil, c.end()
		}
		var got []textCall
		if c.rest()[0] == '{' || c.rest()[0] == '[' && !strings.HasPrefix(c.rest(), "[T") {
			got, v = f.objects(c, false)
		} else {
			got, v = f.single(c)
		}
		if v != match {
			return nil, v
		}
		calls = append(calls, got...)
	}
}

// one makes a reader of one call a reader of calls.
func one(read func(*finder, *cursor) (textCall, verdict)) func(*finder, *cursor) ([]textCall, verdict) {
	return func(f *finder, c *cursor) ([]textCall, verdict) {
		call, v := read(f, c)
		if v != match {
			return nil, v
		}
		return []textCall{call}, match
	}
}

// tagged reads what stands within <tool_call>: JSON (Hermes, Qwen), a function tag (Qwen coder),
// or a name with keys and values (GLM). The end tag may be missing at the end of the text.
func (f *finder) tagged(c *cursor) (calls []textCall, v verdict) {
	c.space()
	rest := c.rest()
	switch {
	case rest == "":
		return nil, c.end()
	case rest[0] == '{' || rest[0] == '[':
		calls, v = f.objects(c, false)
	case rest[0] == '<':
		if v := c.lit("<function="); v != match {
			return nil, v
		}
		calls, v = one((*finder).function)(f, c)
	default:
		return one((*finder).glm)(f, c)
	}
	if v != match {
		return nil, v
	}
	c.space()
	if c.done() {
		return calls, match
	}
	return calls, c.lit("</tool_call>")
}

// mistral reads a list of calls, or a name and its arguments.
func (f *finder) mistral(c *cursor) ([]textCall, verdict) {
	c.space()
	if strings.HasPrefix(c.rest(), "[") {
		return f.objects(c, false)
	}
	name, v := c.until("{", 128)
	if v != match {
		return nil, v
	}
	c.i--
	name, _, _ = strings.Cut(name, "[ARGS]")
	name, _, _ = strings.Cut(name, "[CALL_ID]")
	return f.named(c, strings.TrimSpace(name))
}

// llama reads one or more JSON calls, separated by semicolons.
func (f *finder) llama(c *cursor) (calls []textCall, v verdict) {
	for {
		c.space()
		got, v := f.objects(c, false)
		if v != match {
			return nil, v
		}
		calls = append(calls, got...)
		at := c.i
		c.space()
		if c.i == len(c.s) && !c.final {
			return nil, more
		}
		if c.i == len(c.s) || c.s[c.i] != ';' {
			c.i = at
			return calls, match
		}
		c.i++
	}
}

// fenced reads JSON within a fenced block, which is all that the block may hold.
func (f *finder) fenced(c *cursor) ([]textCall, verdict) {
	language, v := c.until("\n", 12)
	if v != match {
		return nil, v
	}
	switch strings.ToLower(strings.TrimSpace(language)) {
	case "", "json", "tool_call", "tool_calls", "tool_code", "tool":
	default:
		return nil, none
	}
	c.space()
	calls, v := f.objects(c, true)
	if v != match {
		return nil, v
	}
	c.space()
	if c.done() {
		return calls, match
	}
	return calls, c.lit("```")
}

// bare reads JSON that is the whole text.
func (f *finder) bare(c *cursor) (calls []textCall, v verdict) {
	for {
		got, v := f.objects(c, true)
		if v != match {
			return nil, v
		}
		calls = append(calls, got...)
		for c.i < len(c.s) && strings.IndexByte(" \t\r\n;,", c.s[c.i]) >= 0 {
			c.i++
		}
		if c.i == len(c.s) {
			if c.final {
				return calls, match
			}
			return nil, more
		}
	}
}

// deepseek reads "name, separator, arguments", or in its older form "function, separator, name"
// with the arguments in a fenced block.
func (f *finder) deepseek(c *cursor) (textCall, verdict) {
	name, v := c.until("<｜tool▁sep｜>", 128)
	if v != match {
		return textCall{}, v
	}
	fenced := strings.TrimSpace(name) == "function"
	if fenced {
		if name, v = c.until("\n", 128); v != match {
			return textCall{}, v
		}
		if v := c.lit("```json"); v != match {
			return textCall{}, v
		}
		c.space()
	}
	calls, v := f.named(c, strings.TrimSpace(name))
	if v != match {
		return textCall{}, v
	}
	c.space()
	if fenced {
		if v := c.lit("```"); v != match {
			return textCall{}, v
		}
		c.space()
	}
	return calls[0], c.lit("<｜tool▁call▁end｜>")
}

// kimi reads "functions.name:0" and the arguments.
func (f *finder) kimi(c *cursor) (textCall, verdict) {
	id, v := c.until("<|tool_call_argument_begin|>", 160)
	if v != match {
		return textCall{}, v
	}
	name := strings.TrimPrefix(strings.TrimSpace(id), "functions.")
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	calls, v := f.named(c, name)
	if v != match {
		return textCall{}, v
	}
	c.space()
	return calls[0], c.lit("<|tool_call_end|>")
}
