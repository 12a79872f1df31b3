package event

import "encoding/json"

// QuestionKind is the kind of a question that is not about a tool call of the model.
type QuestionKind string

// Kinds of questions.
const (
	QuestionForm      QuestionKind = "form"      // an MCP server asks for information
	QuestionLink      QuestionKind = "link"      // an MCP server asks the user to visit a page
	QuestionSample    QuestionKind = "sample"    // an MCP server asks to use the model
	QuestionServer    QuestionKind = "server"    // whether to start an MCP server
	QuestionTrust     QuestionKind = "trust"     // whether to trust a project
	QuestionOverwrite QuestionKind = "overwrite" // whether to overwrite changes by others, in an undo
)

// QuestionAsked asks a person something else than the approval of a tool call, and QuestionAnswered is the answer.
// Questions of the model are tool calls.
type (
	QuestionAsked struct {
		ID   string       `json:"id"`
		Type QuestionKind `json:"type"`
		From string       `json:"from,omitempty"` // who asks, such as the name of an MCP server
		Text string       `json:"text"`
		// Rows are details, one line each.
		Rows []string `json:"rows,omitempty"`
		// Schema is the JSON schema of the values that a form asks for.
		Schema json.RawMessage `json:"schema,omitempty"`
		URL    string          `json:"url,omitempty"`
		// Options are the possible answers. Without them, the question is answered by a form, or by yes or no.
		Options []Option `json:"options,omitempty"`
	}
	QuestionAnswered struct {
		ID       string          `json:"id"`
		Accepted bool            `json:"accepted"`
		Chosen   string          `json:"chosen,omitempty"` // the label of an option
		Values   json.RawMessage `json:"values,omitempty"` // of a form
		// Reason is why the question was withdrawn before it was answered.
		Reason string `json:"reason,omitempty"`
	}
)
