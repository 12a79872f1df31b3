// Package requests decodes requests in the wire protocols, the inverse of the adapters' encoding. The strict test
// servers and `reins wire parse` use it.
package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Dialect names.
const (
	openaiName    = "openai-responses"
	chatName      = "openai-chat"
	anthropicName = "anthropic"
	geminiName    = "gemini"
	bedrockName   = "bedrock-converse"
)

// Parse reads a request body that d could have encoded. Members without a field in llm.Request become options, and
// items without a part type become opaque, so that encoding the request gives an equal body. Dropped lists the members
// that cannot be represented, as paths such as "messages[2].name".
func Parse(d wire.Dialect, body []byte) (r *llm.Request, dropped []string, err error) {
	read, ok := readers[d.Name()]
	if !ok {
		return nil, nil, fmt.Errorf("requests of protocol %q cannot be parsed", d.Name())
	}
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request is not a JSON object")
	}
	p := &parser{dialect: d, r: &llm.Request{}, options: map[string]json.RawMessage{}}
	if err := read(p, v); err != nil {
		return nil, nil, err
	}
	if len(p.options) > 0 {
		p.r.Options = map[string]llm.Options{d.Name(): {Body: p.options}}
	}
	return p.r, p.dropped, nil
}

var readers = map[string]func(*parser, wire.Value) error{
	openaiName:    readOpenAI,
	chatName:      readChat,
	anthropicName: readAnthropic,
	geminiName:    readGemini,
	bedrockName:   readBedrock,
}

// parser builds a request.
type parser struct {
	dialect wire.Dialect
	r       *llm.Request
	options map[string]json.RawMessage
	dropped []string
}

func (p *parser) drop(format string, args ...any) {
	p.dropped = append(p.dropped, fmt.Sprintf(format, args...))
}

// option adds a request member as an option.
func (p *parser) option(name string, v wire.Value) {
	p.options[name] = json.RawMessage(v.Clone())
}

// state returns state for the request's model.
func (p *parser) state(data []byte) llm.State {
	if data == nil {
		return llm.State{}
	}
	return llm.State{Dialect: p.dialect.Name(), Model: p.r.Model, Data: slices.Clone(data)}
}

// own returns state for all models in the dialect.
func (p *parser) own(data []byte) llm.State {
	return llm.State{Dialect: p.dialect.Name(), Data: slices.Clone(data)}
}

// encoded returns the body that the adapter encodes for a request, nil if it refuses the request.
func (p *parser) encoded(r *llm.Request) wire.Value {
	call, err := p.dialect.Encode(r)
	if err != nil {
		return nil
	}
	return call.Body.Bytes()
}

// only reports whether a value is an object that has no other members.
func only(v wire.Value, names ...string) bool {
	for m := v.Members(); m.Next(); {
		if !slices.Contains(names, string(m.Key)) {
			return false
		}
	}
	return v.Kind() == '{'
}

// without returns an object's members except those with the given names, or nil if none are left.
func without(v wire.Value, names ...string) []byte {
	return wire.Rest(v, func(key string, _ wire.Value) bool { return slices.Contains(names, key) })
}

func number(v wire.Value) *float64 {
	if v.Kind() != '0' {
		return nil
	}
	return new(v.Float())
}

func boolean(v wire.Value) *bool {
	if k := v.Kind(); k != 't' && k != 'f' {
		return nil
	}
	return new(v.Bool())
}

func texts(list wire.Value) (all []string) {
	for it := list.Elements(); it.Next(); {
		all = append(all, it.Value.Str())
	}
	return all
}

// same reports whether two JSON texts are equal as values.
func same(a, b wire.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
