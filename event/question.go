package event

import "encoding/json"

// QuestionKind classifies questions other than approvals and questions from the model.
type QuestionKind string

// Question kinds.
const (
	QuestionForm      QuestionKind = "form"      // an MCP server asks for information
	QuestionLink      QuestionKind = "link"      // an MCP server asks the user to visit a page
	QuestionSample    QuestionKind = "sample"    // an MCP server asks to use the model
	QuestionServer    QuestionKind = "server"    // whether to start an MCP server
	QuestionCommand   QuestionKind = "command"   // whether a skill may run a command or read a file to insert the output
	QuestionTrust     QuestionKind = "trust"     // whether to trust a project
	QuestionOverwrite QuestionKind = "overwrite" // whether to overwrite changes by others, in an undo
)

// QuestionAsked asks the user a question other than an approval, and QuestionAnswered is the answer. Questions from the
// model are tool calls.
type (
	QuestionAsked struct {
		ID   string       `json:"id"`
		Type QuestionKind `json:"type"`
		From string       `json:"from,omitempty"` // who asks, such as an MCP server name
		Text string       `json:"text"`
		// Rows are details, one line each.
		Rows []string `json:"rows,omitempty"`
		// Schema is the JSON schema for form values.
		Schema json.RawMessage `json:"schema,omitempty"`
		URL    string          `json:"url,omitempty"`
		// Options are the possible answers. Without options, the answer is a form, or yes or no.
		Options []Option `json:"options,omitempty"`
	}
	QuestionAnswered struct {
		ID       string          `json:"id"`
		Accepted bool            `json:"accepted"`
		Chosen   string          `json:"chosen,omitempty"` // an option label
		Values   json.RawMessage `json:"values,omitempty"` // form values
		// Reason is why the question was withdrawn before it was answered.
		Reason string `json:"reason,omitempty"`
	}
)
