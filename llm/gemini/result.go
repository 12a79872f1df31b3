package gemini

import (
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// lateMedia is a file of a tool result that the model does not take inside the result.
type lateMedia struct {
	tool  string
	media llm.Media
}

// result writes a tool result and returns the files that must follow it.
func (e *contentEncoder) result(m model, r llm.ToolResult) ([]lateMedia, error) {
	name := r.Name
	if name == "" {
		name = e.calls[r.ID]
	}
	if name == "" {
		name = "tool"
	}
	inside, late, err := split(m, name, r.Parts)
	if err != nil {
		return nil, err
	}
	e.open("user")
	e.out.Open('{')
	e.out.Key("functionResponse")
	e.out.Open('{')
	e.id(r.ID)
	e.out.Key("name")
	e.out.Str(name)
	e.out.Key("response")
	e.response(m, r)
	e.resultParts(m, r.Parts, inside)
	e.out.Close('}')
	e.out.Close('}')
	return late, nil
}

// response writes what a tool returned: text under "result" or "error", or, if the result was
// read from a request in Gemini's own form, the object that stood there.
func (e *contentEncoder) response(m model, r llm.ToolResult) {
	texts := 0
	var last llm.Text
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			texts++
			last = t
		}
	}
	switch raw := signature(last.State, m); {
	case texts == 1 && raw != "":
		e.out.Raw([]byte(raw))
	case r.IsError:
		e.wrapped("error", r.Text())
	default:
		e.wrapped("result", r.Text())
	}
}

// split sorts the files of a result into those that it may hold and those that must follow it.
func split(m model, tool string, parts []llm.Part) (inside []llm.Media, late []lateMedia, err error) {
	for _, p := range parts {
		var media llm.Media
		switch p := p.(type) {
		case llm.Image:
			media = p.Media
		case llm.Audio:
			media = p.Media
		case llm.Document:
			media = p.Media
		default:
			continue
		}
		if media, err = wire.Inline(media); err != nil {
			return nil, nil, err
		}
		if m.takesMedia(media.MIME) {
			inside = append(inside, media)
		} else {
			late = append(late, lateMedia{tool, media})
		}
	}
	return inside, late, nil
}

func (e *contentEncoder) resultParts(m model, parts []llm.Part, media []llm.Media) {
	begun := false
	begin := func() {
		if !begun {
			begun = true
			e.out.Key("parts")
			e.out.Open('[')
		}
	}
	for _, f := range media {
		begin()
		e.blob(f)
	}
	for _, p := range parts {
		if o, ok := p.(llm.Opaque); ok && o.State.For(Name, m.name) {
			begin()
			e.out.Raw(o.State.Data)
		}
	}
	if begun {
		e.out.Close(']')
	}
}

// late writes the files that follow the results of a message, each under the name of its tool.
func (e *contentEncoder) late(files []lateMedia) {
	for _, f := range files {
		e.text("user", "From the result of "+f.tool+":", false, "")
		e.blob(f.media)
	}
}
