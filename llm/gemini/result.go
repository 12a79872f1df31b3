package gemini

import (
	"cmp"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// lateMedia is a tool result's file that is sent after it, because the model does not support it inside.
type lateMedia struct {
	tool  string
	media llm.Media
}

// result writes a tool result and returns the files that follow it.
func (e *contentEncoder) result(m model, r llm.ToolResult) ([]lateMedia, error) {
	name := cmp.Or(e.calls[r.ID], r.Name, "tool")
	inside, late, err := split(m, name, r.Parts)
	if err != nil {
		return nil, err
	}
	e.open("user")
	e.out.Open('{')
	e.out.Key("functionResponse")
	e.out.Open('{')
	e.id(r.ID)
	e.out.Field("name", name)
	e.out.Key("response")
	e.response(m, r)
	e.resultParts(m, r.Parts, inside)
	e.out.Close('}')
	e.out.Close('}')
	return late, nil
}

// response writes a result's text under "result" or "error", or the object that was parsed from a request.
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

// split returns the files that a result may contain and those that follow it.
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

// late writes the files that follow a message's results, each after its tool name.
func (e *contentEncoder) late(files []lateMedia) {
	for _, f := range files {
		e.text("user", "From the result of "+f.tool+":", false, "")
		e.blob(f.media)
	}
}
