package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// conversation encodes each message only once. Returned bytes never change: new messages are appended, and another
// conversation gets a new buffer.
type conversation struct {
	quirks quirks
	model  string
	vision bool                    // the model accepts images
	caches []byte                  // the value of cache_control, or nil
	serves func(model string) bool // whether the provider has a model
	system bool                    // a system message was written

	history  wire.History
	out      wire.Encoder
	lastTool bool       // the last message is a tool message
	media    []llm.Part // of tool results, to send after the last of them
	waiting  []llm.Part // of user messages, to merge with the next
}

// encode returns the encoded messages and this request's last bytes.
func (c *conversation) encode(messages []llm.Message) (fixed, tail []byte, err error) {
	known := c.history.Pending(c.model+" "+string(c.caches), messages)
	if known == 0 {
		c.out.Buf = make([]byte, 0, 512*(len(messages)+1))
		c.lastTool = false
		c.system = false
		c.media = nil
		c.waiting = nil
	}
	for _, m := range messages[known:] {
		if err := c.message(m); err != nil {
			c.history.Forget()
			return nil, nil, err
		}
	}
	fixed = c.out.Buf
	if len(c.media) == 0 && len(c.waiting) == 0 {
		return fixed, []byte("]}"), nil
	}
	// Later messages may follow these in the next request.
	end := conversation{
		quirks:   c.quirks,
		model:    c.model,
		vision:   c.vision,
		media:    c.media,
		waiting:  c.waiting,
		lastTool: c.lastTool,
	}
	if len(fixed) > 0 {
		end.out.Buf = append(end.out.Buf, ',')
	}
	if err := end.flush(); err != nil {
		return nil, nil, err
	}
	return fixed, append(end.out.Buf, "]}"...), nil
}

func (c *conversation) message(m llm.Message) error {
	parts := m.Parts
	if changesTools(parts) {
		return nil
	}
	if m.Role == llm.RoleTool || holdsResults(parts) {
		if err := c.flushUser(); err != nil {
			return err
		}
		var err error
		if parts, err = c.results(parts); err != nil || len(parts) == 0 {
			return err
		}
		if m.Role == llm.RoleTool {
			m.Role = llm.RoleUser
		}
	}
	if m.Role == llm.RoleUser {
		if err := c.flushMedia(); err != nil {
			return err
		}
		return c.user(parts)
	}
	if err := c.flush(); err != nil {
		return err
	}
	if m.Role == llm.RoleAssistant {
		return c.assistant(parts)
	}
	if m.Role == llm.RoleDeveloper && c.quirks.NoDeveloper {
		m.Role = llm.RoleSystem
	}
	return c.plain(m.Role, parts)
}

// changesTools reports whether a message only says that the tools changed.
func changesTools(parts []llm.Part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p llm.Part) bool { _, ok := p.(llm.ToolChange); return !ok })
}

// user writes a user message, or keeps it to merge it with the next one.
func (c *conversation) user(parts []llm.Part) error {
	if c.quirks.Merge && !hasFields(parts) {
		if len(parts) == 0 {
			parts = []llm.Part{llm.Text{}}
		}
		c.waiting = append(c.waiting, parts...)
		return nil
	}
	if err := c.flushUser(); err != nil {
		return err
	}
	c.bridge()
	return c.plain(llm.RoleUser, parts)
}

// plain writes a message with a role and content.
func (c *conversation) plain(role llm.Role, parts []llm.Part) error {
	c.open(string(role))
	mark := role == llm.RoleSystem && !c.system && c.caches != nil
	c.system = c.system || role == llm.RoleSystem
	if text, list := c.content(parts, "\n\n"); mark && !list && text != "" {
		c.marked(text)
	} else if list {
		c.out.Key("content")
		if err := c.list(parts); err != nil {
			return err
		}
	} else if text != "" || !hasFields(parts) {
		c.out.Key("content")
		c.out.Str(text)
	}
	c.fields(parts)
	c.out.Close('}')
	return nil
}

// marked writes a text as content with a cache breakpoint.
func (c *conversation) marked(text string) {
	c.out.Key("content")
	c.out.Open('[')
	c.out.Open('{')
	c.out.Field("type", "text")
	c.out.Field("text", text)
	c.out.Key(cacheControl)
	c.out.Raw(c.caches)
	c.out.Close('}')
	c.out.Close(']')
}

func (c *conversation) open(role string) {
	c.lastTool = role == "tool"
	c.out.Open('{')
	c.out.Key("role")
	c.out.Str(role)
}

// bridge writes an assistant message after a tool message, if the server requires it.
func (c *conversation) bridge() {
	if c.lastTool && c.quirks.Bridge {
		c.open("assistant")
		c.out.Key("content")
		c.out.Str("Understood.")
		c.out.Close('}')
	}
}

// flush writes waiting media and user messages.
func (c *conversation) flush() error {
	if err := c.flushMedia(); err != nil {
		return err
	}
	return c.flushUser()
}

// flushMedia writes the media of tool results as a user message.
func (c *conversation) flushMedia() error {
	if len(c.media) == 0 {
		return nil
	}
	parts := append([]llm.Part{llm.Text{Text: "Files returned by the tools above:"}}, c.media...)
	c.media = nil
	return c.user(parts)
}

// flushUser writes the waiting user messages as one.
func (c *conversation) flushUser() error {
	if len(c.waiting) == 0 {
		return nil
	}
	parts := c.waiting
	c.waiting = nil
	c.bridge()
	return c.plain(llm.RoleUser, parts)
}

// content returns the parts as one text, or reports that they need a list.
func (c *conversation) content(parts []llm.Part, separator string) (text string, list bool) {
	var texts []string
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.State.For(Name, c.model) {
				return "", true
			}
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		case llm.Image, llm.Audio, llm.Document:
			return "", true
		case llm.Thinking:
			if c.replays(p) && isContentPart(p.State.Data) {
				return "", true
			}
		case llm.Opaque:
			if p.State.For(Name, c.model) && isContentPart(p.State.Data) {
				return "", true
			}
		}
	}
	if len(texts) == 1 {
		return texts[0], false
	}
	return strings.Join(texts, separator), false
}

// list writes the parts as a list, without empty texts.
func (c *conversation) list(parts []llm.Part) error {
	c.out.Open('[')
	for _, p := range parts {
		if err := c.part(p); err != nil {
			return err
		}
	}
	c.out.Close(']')
	return nil
}

func (c *conversation) part(p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		if p.State.For(Name, c.model) {
			c.out.Raw(p.State.Data)
		} else if p.Text != "" {
			c.text(p.Text)
		}
	case llm.Thinking:
		if c.replays(p) && isContentPart(p.State.Data) {
			c.out.Raw(p.State.Data)
		}
	case llm.Opaque:
		if p.State.For(Name, c.model) && isContentPart(p.State.Data) {
			c.out.Raw(p.State.Data)
		}
	case llm.Image:
		return c.image(p)
	case llm.Audio:
		return c.audio(p)
	case llm.Document:
		return c.document(p)
	}
	return nil
}

func (c *conversation) text(s string) {
	c.out.Open('{')
	c.out.Key("type")
	c.out.Str("text")
	c.out.Key("text")
	c.out.Str(s)
	c.out.Close('}')
}

func (c *conversation) image(p llm.Image) error {
	if !c.vision {
		c.text("[image omitted: this model does not accept images]")
		return nil
	}
	m, err := reference(p.Media)
	if err != nil {
		return llm.Errorf(llm.ErrInvalidRequest, "", "cannot send image: %w", err)
	}
	c.out.Open('{')
	c.out.Key("type")
	c.out.Str("image_url")
	c.out.Key("image_url")
	c.out.Open('{')
	c.out.Key("url")
	c.dataURL(m, "image/png")
	c.out.StrField("detail", p.Detail)
	c.out.Close('}')
	c.out.Close('}')
	return nil
}

func (c *conversation) audio(p llm.Audio) error {
	m, err := wire.Inline(p.Media)
	if err != nil {
		return llm.Errorf(llm.ErrInvalidRequest, "", "cannot send audio: %w", err)
	}
	if m.Data == nil {
		c.text("[audio: " + m.URL + "]")
		return nil
	}
	c.out.Open('{')
	c.out.Key("type")
	c.out.Str("input_audio")
	c.out.Key("input_audio")
	c.out.Open('{')
	c.out.Key("data")
	c.out.Base64("", m.Data)
	c.out.Key("format")
	c.out.Str(audioFormat(m.MIME))
	c.out.Close('}')
	c.out.Close('}')
	return nil
}

func (c *conversation) document(p llm.Document) error {
	m, err := reference(p.Media)
	if err != nil {
		return llm.Errorf(llm.ErrInvalidRequest, "", "cannot send document: %w", err)
	}
	remote := m.URL != "" && !strings.HasPrefix(m.URL, "data:")
	if remote && c.quirks.Documents == "" {
		c.text("[document: " + m.URL + "]")
		return nil
	}
	c.out.Open('{')
	c.out.Key("type")
	if c.quirks.Documents == "document_url" {
		c.out.Str("document_url")
		c.out.Key("document_url")
		c.dataURL(m, "application/pdf")
		c.out.StrField("document_name", m.Name)
		c.out.Close('}')
		return nil
	}
	c.out.Str("file")
	c.out.Key("file")
	c.out.Open('{')
	c.out.StrField("filename", m.Name)
	c.out.Key("file_data")
	c.dataURL(m, "application/pdf")
	c.out.Close('}')
	c.out.Close('}')
	return nil
}

// reference returns media with its URL, or with its data.
func reference(m llm.Media) (llm.Media, error) {
	if m.URL != "" {
		m.URL = wire.TrueDataURI(m.URL)
		return m, nil
	}
	return wire.Inline(m)
}

func (c *conversation) dataURL(m llm.Media, standard string) {
	if m.URL != "" {
		c.out.Str(m.URL)
		return
	}
	kind := cmp.Or(m.MIME, standard)
	if strings.ContainsAny(kind, "\"\\\n\r") {
		kind = standard
	}
	c.out.Base64("data:"+kind+";base64,", m.Data)
}

// audioFormat returns the protocol's name for an audio type.
func audioFormat(mime string) string {
	switch mime {
	case "audio/mpeg":
		return "mp3"
	case "audio/wave", "audio/x-wav":
		return "wav"
	}
	return strings.TrimPrefix(mime, "audio/")
}

// toolID returns a tool call ID in the form that the server accepts.
func (c *conversation) toolID(id string) string {
	n := c.quirks.ToolIDs
	switch {
	case n > 0 && len(id) == n && alphanumeric(id):
		return id
	case n > 0:
		return wire.Digest(id)[:min(n, 11)]
	case c.quirks.MaxToolID > 0 && len(id) > c.quirks.MaxToolID:
		return "call_" + wire.Digest(id)
	case id == "":
		return "call"
	}
	return id
}

func alphanumeric(s string) bool {
	for _, r := range s {
		if !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return false
		}
	}
	return true
}
