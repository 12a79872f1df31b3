package wire

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Locate finds out which part of r the provider refused, from what its error says: a path such as
// "messages.5.content.0", the id of an item or of a tool call, or only that it is an image. It is
// nil where the error does not say. The error is not trusted: what it names must be in the request.
//
// Adapters join, split and move messages, so that the provider's indexes are not ours. Locate
// encodes a copy of the request in which every part carries a tag, looks at the place that the
// error names, and reads the tags that stand there.
func Locate(d Dialect, r *llm.Request, e *llm.Error) *llm.Item {
	if !refusesItem(e.Kind) {
		return nil
	}
	says := readComplaint(e)
	if !says.specific() {
		return nil
	}
	for _, m := range newMaps(d, r) {
		if at := m.find(says); at != nil {
			return at
		}
	}
	if says.image {
		return newest(images(r))
	}
	return nil
}

// refusesItem reports whether an error of this kind may be about one item of the request. A result
// that is too long by itself comes as a context-length error, and an item that is not stored as
// one of the kind not found.
func refusesItem(k llm.ErrorKind) bool {
	return k == llm.ErrInvalidRequest || k == llm.ErrContextLength || k == llm.ErrNotFound
}

// complaint is what an error says.
type complaint struct {
	paths   []path
	words   []string // that may be ids
	result  bool     // an id stands for a tool's result, not for the call
	orphan  bool     // some tool message has no call
	image   bool     // it is about an image
	call    string   // the name of a function call, and
	content int      // in which content it stands; -1 if it does not say
}

func (c *complaint) specific() bool {
	return len(c.paths) > 0 || len(c.words) > 0 || c.orphan || c.image || c.content >= 0
}

// maxComplaint bounds how much of an error is read.
const maxComplaint = 16 << 10

func readComplaint(e *llm.Error) *complaint {
	body, _ := ParseJSON(e.Body)
	param := errorObject(body).Get("param").Str()
	message, whole := head(e.Message), head(string(e.Body))
	c := &complaint{words: idWords(message), content: -1}
	for _, text := range []string{head(param), message, whole} {
		c.paths = append(c.paths, paths(text)...)
	}
	lower := strings.ToLower(message)
	c.result = containsAny(lower, []string{"no tool call found", "unexpected `tool_use_id`", "single result", "tool_result` block must have"})
	c.orphan = strings.Contains(lower, "role 'tool' must be a response")
	c.image = aboutImage(lower) || aboutImage(strings.ToLower(whole))
	c.call, c.content = position(message)
	return c
}

func head(s string) string { return s[:min(len(s), maxComplaint)] }

// aboutImage reports whether an error is about the data of an image. That a model sees no images
// at all is another matter.
func aboutImage(text string) bool {
	return containsAny(text, []string{
		"could not process image", "unable to process input image", "image is not valid", "not represent a valid image",
		"invalid image", "invalid_image", "unsupported image", "unsupportedimage", "image exceeds", "image dimensions",
		"image format is not supported", "image does not match", "image too large", "image is too large", "image_too_large",
		"failed to decode image", "cannot identify image", "failed to load image", "failed to process image", "image_parse_error",
		"image.source",
	})
}

// find looks for what the error names in the request as it was sent.
func (m *tagMap) find(c *complaint) *llm.Item {
	if at := m.findPath(c); at != nil {
		return at
	}
	if at := m.pick(m.byID(m.body, c)); at != nil {
		return at
	}
	if c.content >= 0 {
		return m.pick(m.callAt(c))
	}
	if c.orphan {
		return m.pick(m.orphan())
	}
	return nil
}

// findPath follows the first of the paths that lead somewhere. A path that ends at a whole item is
// narrowed down by what else the error says.
func (m *tagMap) findPath(c *complaint) *llm.Item {
	for _, p := range c.paths {
		v, exact := m.follow(p)
		if v == nil {
			continue
		}
		if !exact {
			for _, where := range []Value{v, m.body} {
				if at := m.pick(m.byID(where, c)); at != nil {
					return at
				}
			}
		}
		if c.image {
			if at := newest(m.imagesAmong(m.tags(v))); at != nil {
				return at
			}
		}
		if at := m.pick(v); at != nil {
			return at
		}
	}
	return nil
}

// pick is the place that a value comes from.
func (m *tagMap) pick(v Value) *llm.Item {
	at := common(m.tags(v))
	if at != nil && holdsResult(v) {
		at.Inner = -1
	}
	return at
}

// holdsResult reports whether a value is the result of a tool, or an item with one inside.
func holdsResult(v Value) bool {
	switch v.Kind() {
	case '[':
		for it := v.Elements(); it.Next(); {
			if holdsResult(it.Value) {
				return true
			}
		}
	case '{':
		kind := v.Get("type").Str()
		if kind == "tool_result" || strings.HasSuffix(kind, "_output") || v.Get("role").Is("tool") {
			return true
		}
		for m := v.Members(); m.Next(); {
			if key := string(m.Key); key == "functionResponse" || structural(key) && holdsResult(m.Value) {
				return true
			}
		}
	}
	return false
}

// common is the narrowest place that holds all of these, or the newest message of several.
func common(places []llm.Item) *llm.Item {
	if len(places) == 0 {
		return nil
	}
	at := places[0]
	for _, p := range places[1:] {
		switch {
		case p.Message != at.Message:
			at = llm.Item{Message: max(p.Message, at.Message), Part: -1, Inner: -1}
		case p.Part != at.Part:
			at.Part, at.Inner = -1, -1
		case p.Inner != at.Inner:
			at.Inner = -1
		}
	}
	return &at
}

// images lists the places of the images of a request.
func images(r *llm.Request) (places []llm.Item) {
	for i, m := range r.Messages {
		for j, p := range m.Parts {
			switch p := p.(type) {
			case llm.Image:
				places = append(places, llm.Item{Message: i, Part: j, Inner: -1})
			case llm.ToolResult:
				for k, q := range p.Parts {
					if _, ok := q.(llm.Image); ok {
						places = append(places, llm.Item{Message: i, Part: j, Inner: k})
					}
				}
			}
		}
	}
	return places
}

// imagesAmong lists those of the places that are images.
func (m *tagMap) imagesAmong(places []llm.Item) (some []llm.Item) {
	for _, at := range images(m.request) {
		if slices.Contains(places, at) {
			some = append(some, at)
		}
	}
	return some
}

// newest is the place that comes last in the conversation.
func newest(places []llm.Item) *llm.Item {
	if len(places) == 0 {
		return nil
	}
	last := slices.MaxFunc(places, func(a, b llm.Item) int {
		return slices.Compare([]int{a.Message, a.Part, a.Inner}, []int{b.Message, b.Part, b.Inner})
	})
	return &last
}
