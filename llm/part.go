package llm

// Part is a piece of a message: [Text], [Image], [Audio], [Document], [ToolCall], [ToolResult],
// [Thinking] or [Opaque].
type Part interface{ part() }

// State is what a provider wants back verbatim with a part. Data is raw and has a meaning only to
// the adapter of Dialect. It is replayed to that dialect and model only; an empty Model stands for
// any model of the dialect.
type State struct {
	Dialect string
	Model   string
	Data    []byte
}

// For reports whether the state was made by this dialect and model.
func (s State) For(dialect, model string) bool {
	return s.Dialect == dialect && len(s.Data) > 0 && (s.Model == "" || s.Model == model)
}

// Text is plain text.
type Text struct {
	Text  string
	State State
}

// Media is a file that travels with a message: one of Data, URL or Path. A Path is read and sent
// inline when the request is encoded. An empty MIME is found from the data or the name.
type Media struct {
	MIME string
	Data []byte
	URL  string
	Path string
	Name string // a file name for the provider to show, where it takes one
}

// Image is a picture. Detail is "low", "high", "original" or "" (the provider's choice).
type Image struct {
	Media
	Detail string
}

// Audio is sound.
type Audio struct{ Media }

// Document is a file such as a PDF.
type Document struct{ Media }

// ToolCall is the model's wish to run a tool. Arguments is the text the model produced, byte for
// byte: a JSON object, or free text for a Custom tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
	Custom    bool
	State     State
}

// ToolResult answers the tool call with the same ID. Parts holds text and images.
type ToolResult struct {
	ID      string
	Name    string // of the tool, for protocols that match by name
	Parts   []Part
	IsError bool
	Custom  bool // answers a Custom call
}

// Text is the text of the result.
func (r ToolResult) Text() string { return joinText(r.Parts) }

// TextResult makes a result of one text part for call c.
func TextResult(c ToolCall, text string, isError bool) ToolResult {
	return ToolResult{ID: c.ID, Name: c.Name, Parts: []Part{Text{Text: text}}, IsError: isError, Custom: c.Custom}
}

// Thinking is the model's reasoning, as far as the provider shows it. A Redacted block has no
// text, only State.
type Thinking struct {
	Text     string
	Redacted bool
	State    State
}

// Opaque is something a provider returned that this package does not model, kept whole and in its
// place so that it can be sent back. Kind is the provider's name for it.
type Opaque struct {
	Kind  string
	State State
}

func (Text) part()       {}
func (Image) part()      {}
func (Audio) part()      {}
func (Document) part()   {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Thinking) part()   {}
func (Opaque) part()     {}
