package llm

// Part is one piece of a message: [Text], [Image], [Audio], [Document], [ToolCall], [ToolResult], [Thinking],
// [ToolChange] or [Opaque].
type Part interface{ part() }

// State is data that must be sent back to the provider unchanged, together with its part. Only the Dialect adapter
// reads Data. It sends Data only to Model, or to any model in the dialect if Model is empty.
type State struct {
	Dialect string
	Model   string
	Data    []byte
}

// For reports whether the state can be sent to this model.
func (s State) For(dialect, model string) bool {
	return s.Dialect == dialect && len(s.Data) > 0 && (s.Model == "" || s.Model == model)
}

// Text is plain text.
type Text struct {
	Text  string
	State State
}

// Media is a file in a message, given by Data, URL or Path. The file at Path is read and sent inline when the
// request is encoded. If MIME is empty, it is derived from the data or the name.
type Media struct {
	MIME string
	Data []byte
	URL  string
	Path string
	Name string // a file name for the provider, if it supports one
}

// Image is a picture. Detail is "low", "high", "original" or "" (the provider's choice).
type Image struct {
	Media
	Detail string
}

// Audio is an audio file.
type Audio struct{ Media }

// Document is a file such as a PDF.
type Document struct{ Media }

// ToolCall is a request by the model to run a tool. Arguments is the exact text the model produced: a JSON
// object, or free text for a Custom tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
	Custom    bool
	State     State
}

// ToolResult is the result of the tool call with the same ID. Parts holds text and images.
type ToolResult struct {
	ID      string
	Name    string // tool name, for protocols that match by name
	Parts   []Part
	IsError bool
	Custom  bool // result of a Custom call
}

// Text returns the result's text parts, joined without separator.
func (r ToolResult) Text() string { return joinText(r.Parts) }

// TextResult returns a result for call c with one text part.
func TextResult(c ToolCall, text string, isError bool) ToolResult {
	return ToolResult{
		ID:      c.ID,
		Name:    c.Name,
		Parts:   []Part{Text{Text: text}},
		IsError: isError,
		Custom:  c.Custom,
	}
}

// Thinking is the model's reasoning, as far as the provider shows it. A Redacted block has no text.
type Thinking struct {
	Text     string
	Redacted bool
	State    State
}

// ToolChange, in a system message, records that the conversation's tools changed here. Request.Tools always lists the
// tools after all changes. An adapter whose model accepts changes in the conversation sends the original tools first
// and the changes in their places, so that the request's start stays the same; others ignore it.
type ToolChange struct {
	Add    []ToolDef     `json:"add,omitempty"`
	Remove []RemovedTool `json:"remove,omitempty"` // before Add
}

// RemovedTool is a tool that is no longer available. At is its position in the list before.
type RemovedTool struct {
	At   int     `json:"at"`
	Tool ToolDef `json:"tool"`
}

// Opaque is a provider's item that this package does not model. It is stored whole and sent back in its
// place. Kind is the provider's name for it.
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
func (ToolChange) part() {}
func (Opaque) part()     {}
