package chat

import (
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// conversation encodes messages, each only once. Bytes that were handed out are never written
// again: what is new is appended, and a conversation that is no continuation gets a new buffer.
type conversation struct {
	quirks Quirks
	model  string
	vision bool // images can be sent

	history  wire.History
	out      wire.Encoder
	lastTool bool       // the last message written is a tool message
	media    []llm.Part // of tool results, to follow behind the last of them
	waiting  []llm.Part // of user messages, to be joined with those that follow
}

// encode returns the encoded messages, and what ends this request's body behind them.
func (c *conversation) encode(messages []llm.Message) (fixed, tail []byte, err error) {
	known := c.history.Pending(c.model, messages)
	if known == 0 {
		c.out.Buf = make([]byte, 0, 512*(len(messages)+1))
		c.lastTool, c.media, c.waiting = false, nil, nil
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
	// These still wait for further messages; in this request they stand last.
	end := conversation{quirks: c.quirks, model: c.model, vision: c.vision, media: c.media, waiting: c.waiting, lastTool: c.lastTool}
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

// user takes in a user message. Where two in a row are refused it waits for the next one.
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

// plain writes a message that has a role and content.
func (c *conversation) plain(role llm.Role, parts []llm.Part) error {
	c.open(string(role))
	if text, list := c.content(parts, "\n\n"); list {
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

func (c *conversation) open(role string) {
	c.lastTool = role == "tool"
	c.out.Open('{')
	c.out.Key("role")
	c.out.Str(role)
}

// bridge separates a user message from the tool message before it, where it must be.
func (c *conversation) bridge() {
	if c.lastTool && c.quirks.Bridge {
		c.open("assistant")
		c.out.Key("content")
		c.out.Str("Understood.")
		c.out.Close('}')
	}
}

// flush writes what waits for further messages.
func (c *conversation) flush() error {
	if err := c.flushMedia(); err != nil {
		return err
	}
	return c.flushUser()
}

// flushMedia sends the media that wait behind tool messages, as a message of the user.
func (c *conversation) flushMedia() error {
	if len(c.media) == 0 {
		return nil
	}
	parts := append([]llm.Part{llm.Text{Text: "The files that the tools above returned:"}}, c.media...)
	c.media = nil
	return c.user(parts)
}

// flushUser writes the user messages that wait, as one.
func (c *conversation) flushUser() error {
	if len(c.waiting) == 0 {
		return nil
	}
	parts := c.waiting
	c.waiting = nil
	c.bridge()
	return c.plain(llm.RoleUser, parts)
}

// content says whether the parts must be written as a list, and if not, their text.
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

// list writes the parts as a list of content parts. Empty texts are left out, but for the last
// if the list would be empty otherwise.
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
		c.text("[an image that this model cannot see]")
		return nil
	}
	m, err := reference(p.Media)
	if err != nil {
		return llm.Errorf(llm.ErrInvalidRequest, "", "an image cannot be sent: %w", err)
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
		return llm.Errorf(llm.ErrInvalidRequest, "", "a sound cannot be sent: %w", err)
	}
	if m.Data == nil {
		c.text("[a sound at " + m.URL + "]")
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
		return llm.Errorf(llm.ErrInvalidRequest, "", "a document cannot be sent: %w", err)
	}
	remote := m.URL != "" && !strings.HasPrefix(m.URL, "data:")
	if remote && c.quirks.Documents == "" {
		c.text("[a document at " + m.URL + "]")
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

// reference is the medium as it travels: its URL as it is, or its data.
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
	kind := orElse(m.MIME, standard)
	if strings.ContainsAny(kind, "\"\\\n\r") {
		kind = standard
	}
	c.out.Base64("data:"+kind+";base64,", m.Data)
}

// audioFormats are the names of sound formats in the protocol.
var audioFormats = map[string]string{"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/wave": "wav", "audio/x-wav": "wav"}

func audioFormat(mime string) string {
	if f, ok := audioFormats[mime]; ok {
		return f
	}
	return strings.TrimPrefix(mime, "audio/")
}

// toolID is the id of a tool call as the server takes it.
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
