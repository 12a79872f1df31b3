package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// In the JSON form of messages, a part is an object with a "type". A part of unknown type is read as an Opaque
// without a dialect and written back unchanged.

type messageJSON struct {
	Role  Role              `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

type partJSON struct {
	Type      string            `json:"type"`
	Text      string            `json:"text,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Arguments *string           `json:"arguments,omitempty"`
	Custom    bool              `json:"custom,omitempty"`
	Redacted  bool              `json:"redacted,omitempty"`
	IsError   bool              `json:"is_error,omitempty"`
	Parts     []json.RawMessage `json:"parts,omitempty"`
	Kind      string            `json:"kind,omitempty"`
	MIME      string            `json:"mime,omitempty"`
	Data      []byte            `json:"data,omitempty"`
	URL       string            `json:"url,omitempty"`
	Path      string            `json:"path,omitempty"`
	Detail    string            `json:"detail,omitempty"`
	State     *State            `json:"state,omitempty"`
	Tools     *ToolChange       `json:"tools,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (m Message) MarshalJSON() ([]byte, error) {
	parts := make([]any, len(m.Parts))
	for i, p := range m.Parts {
		var err error
		if parts[i], err = partForm(p); err != nil {
			return nil, err
		}
	}
	return json.Marshal(struct {
		Role  Role  `json:"role"`
		Parts []any `json:"parts"`
	}{m.Role, parts})
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(data []byte) error {
	read, ok := readMessage(data)
	if !ok {
		var err error
		if read, err = unmarshalMessage(data); err != nil {
			return err
		}
	}
	*m = read
	return nil
}

// unmarshalMessage reads any message. It is slower than readMessage.
func unmarshalMessage(data []byte) (Message, error) {
	var j messageJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Message{}, err
	}
	parts, err := unmarshalParts(j.Parts)
	return Message{j.Role, parts}, err
}

func marshalParts(parts []Part) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		b, err := MarshalPart(p)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

func unmarshalParts(raw []json.RawMessage) ([]Part, error) {
	var parts []Part
	for _, b := range raw {
		p, err := UnmarshalPart(b)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// MarshalPart encodes a part as JSON.
func MarshalPart(p Part) ([]byte, error) {
	form, err := partForm(p)
	if err != nil {
		return nil, err
	}
	if raw, ok := form.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(form)
}

// partForm returns the value to marshal for a part.
func partForm(p Part) (any, error) {
	switch p := p.(type) {
	case Text:
		return partJSON{Type: "text", Text: p.Text, State: p.State.ref()}, nil
	case Image:
		return p.Media.json("image", p.Detail), nil
	case Audio:
		return p.Media.json("audio", ""), nil
	case Document:
		return p.Media.json("document", ""), nil
	case ToolCall:
		return partJSON{
			Type:      "tool_call",
			ID:        p.ID,
			Name:      p.Name,
			Arguments: &p.Arguments,
			Custom:    p.Custom,
			State:     p.State.ref(),
		}, nil
	case ToolResult:
		parts, err := marshalParts(p.Parts)
		if err != nil {
			return nil, err
		}
		return partJSON{
			Type:    "tool_result",
			ID:      p.ID,
			Name:    p.Name,
			Parts:   parts,
			IsError: p.IsError,
			Custom:  p.Custom,
		}, nil
	case Thinking:
		return partJSON{Type: "thinking", Text: p.Text, Redacted: p.Redacted, State: p.State.ref()}, nil
	case ToolChange:
		return partJSON{Type: "tool_change", Tools: &p}, nil
	case Opaque:
		if p.State.Dialect == "" && json.Valid(p.State.Data) {
			return json.RawMessage(p.State.Data), nil
		}
		return partJSON{Type: "opaque", Kind: p.Kind, State: p.State.ref()}, nil
	}
	return nil, fmt.Errorf("llm: cannot marshal a part of type %T", p)
}

// UnmarshalPart decodes a part from JSON.
func UnmarshalPart(data []byte) (Part, error) {
	var j partJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("llm: invalid message part: %w", err)
	}
	if j.Type == "tool_result" {
		parts, err := unmarshalParts(j.Parts)
		return j.part(parts), err
	}
	if p := j.part(nil); p != nil {
		return p, nil
	}
	return Opaque{Kind: j.Type, State: State{Data: bytes.Clone(data)}}, nil
}

// part returns the part with the parts in it, or nil if its type is unknown.
func (j *partJSON) part(parts []Part) Part {
	var state State
	if j.State != nil {
		state = *j.State
	}
	media := Media{
		MIME: j.MIME,
		Data: j.Data,
		URL:  j.URL,
		Path: j.Path,
		Name: j.Name,
	}
	switch j.Type {
	case "text":
		return Text{j.Text, state}
	case "image":
		return Image{media, j.Detail}
	case "audio":
		return Audio{media}
	case "document":
		return Document{media}
	case "tool_call":
		c := ToolCall{ID: j.ID, Name: j.Name, Custom: j.Custom, State: state}
		if j.Arguments != nil {
			c.Arguments = *j.Arguments
		}
		return c
	case "tool_result":
		return ToolResult{
			ID:      j.ID,
			Name:    j.Name,
			Parts:   parts,
			IsError: j.IsError,
			Custom:  j.Custom,
		}
	case "thinking":
		return Thinking{j.Text, j.Redacted, state}
	case "tool_change":
		if j.Tools != nil {
			return *j.Tools
		}
		return ToolChange{}
	case "opaque":
		return Opaque{j.Kind, state}
	}
	return nil
}

func (m Media) json(kind, detail string) partJSON {
	return partJSON{
		Type:   kind,
		MIME:   m.MIME,
		Data:   m.Data,
		URL:    m.URL,
		Path:   m.Path,
		Name:   m.Name,
		Detail: detail,
	}
}

func (s State) ref() *State {
	if s.Dialect == "" && len(s.Data) == 0 {
		return nil
	}
	return &s
}

// stateJSON holds text as text and other bytes in base64.
type stateJSON struct {
	Dialect string `json:"dialect"`
	Model   string `json:"model,omitempty"`
	Data    string `json:"data,omitempty"`
	Base64  []byte `json:"base64,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s State) MarshalJSON() ([]byte, error) {
	j := stateJSON{Dialect: s.Dialect, Model: s.Model}
	if utf8.Valid(s.Data) {
		j.Data = string(s.Data)
	} else {
		j.Base64 = s.Data
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(data []byte) error {
	var j stateJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = j.state()
	return nil
}

func (j stateJSON) state() State {
	s := State{Dialect: j.Dialect, Model: j.Model, Data: j.Base64}
	if j.Data != "" {
		s.Data = []byte(j.Data)
	}
	return s
}
