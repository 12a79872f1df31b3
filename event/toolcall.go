package event

import (
	"encoding/json"
	"math"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// ToolCallStart starts a tool call. Each start is followed by a ToolCallEnd, even if the call is not run. A call that
// is approved after the session stopped waiting for it is started again.
type ToolCallStart struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the model's JSON object, or a string if the model's arguments are not JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Version   string          `json:"version,omitempty"` // tool version
	// Question is what the call asks the user. The next input is its result.
	Question string `json:"question,omitempty"`
	// Questions is Question in parts, if it is more than a text.
	Questions []Question `json:"questions,omitempty"`
}

// Question is a question to the user. Without options, the answer is any text.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header,omitempty"` // a word or two
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"` // several options can be chosen
}

// Option is a possible answer to a question.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// ToolCallDelta shows tool output as it is written.
type ToolCallDelta struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ToolCallEnd is the result of a tool call.
type ToolCallEnd struct {
	ID         string
	Name       string
	Output     tool.Output // complete, of any size
	OutputBlob *Blob       // where a store has the output, if it is too large for a record
	Model      string      // what the model sees
	Images     []llm.Image
	Fields     map[string]any
	Error      *tool.Error
	Artifacts  tool.Artifacts
	Accesses   []policy.Access // nil if the tool did not declare them
	Decision   policy.Decision
	Plan       bool          // the arguments are the model's plan
	Mode       policy.Mode   // permission mode that the call switched the session to, if any
	Reports    string        // path of the subagent whose result it returns
	Duration   time.Duration // without the wait for approval
}

type toolCallEndJSON struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	OK        bool              `json:"ok"`
	Output    string            `json:"output"`
	Blob      *Blob             `json:"output_blob,omitempty"`
	Model     *string           `json:"model_output,omitempty"` // nil if it equals Output
	Images    []json.RawMessage `json:"images,omitempty"`
	Fields    map[string]any    `json:"fields,omitempty"`
	Error     *tool.Error       `json:"error,omitempty"`
	Artifacts tool.Artifacts    `json:"artifacts,omitzero"`
	Accesses  []policy.Access   `json:"accesses"`
	Decision  policy.Decision   `json:"decision"`
	Plan      bool              `json:"plan,omitempty"`
	Mode      policy.Mode       `json:"mode,omitempty"`
	Reports   string            `json:"reports,omitempty"`
	Duration  time.Duration     `json:"duration_ns"`
}

// MarshalJSON encodes the result with its complete output, unless that is in a blob.
func (e ToolCallEnd) MarshalJSON() ([]byte, error) {
	data, _, err := e.encode(math.MaxInt)
	return data, err
}

// encode encodes the result. An output above maximum bytes is left out and returned.
func (e ToolCallEnd) encode(maximum int) (data []byte, output string, err error) {
	j := toolCallEndJSON{
		e.ID,
		e.Name,
		e.Error == nil,
		"",
		e.OutputBlob,
		&e.Model,
		nil,
		e.Fields,
		e.Error,
		e.Artifacts,
		e.Accesses,
		e.Decision,
		e.Plan,
		e.Mode,
		e.Reports,
		e.Duration,
	}
	if e.OutputBlob == nil {
		if j.Output = tool.String(e.Output); j.Output == e.Model {
			j.Model = nil
		}
		if len(j.Output) > maximum {
			j.Output, output = "", j.Output
		}
	}
	for _, img := range e.Images {
		b, err := llm.MarshalPart(img)
		if err != nil {
			return nil, "", err
		}
		j.Images = append(j.Images, b)
	}
	data, err = json.Marshal(j)
	return data, output, err
}

// UnmarshalJSON decodes the result.
func (e *ToolCallEnd) UnmarshalJSON(b []byte) error {
	var j toolCallEndJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Model == nil {
		j.Model = &j.Output
	}
	*e = ToolCallEnd{
		j.ID,
		j.Name,
		tool.Text(j.Output),
		j.Blob,
		*j.Model,
		nil,
		j.Fields,
		j.Error,
		j.Artifacts,
		j.Accesses,
		j.Decision,
		j.Plan,
		j.Mode,
		j.Reports,
		j.Duration,
	}
	for _, raw := range j.Images {
		p, err := llm.UnmarshalPart(raw)
		if err != nil {
			return err
		}
		if img, ok := p.(llm.Image); ok {
			e.Images = append(e.Images, img)
		}
	}
	return nil
}

// BackgroundEnd is the end of a command that a tool call left running, [tool.Artifacts].Background. There is none if the
// process of the session was killed before.
type BackgroundEnd struct {
	ID       string        `json:"id"`
	Command  string        `json:"command"`
	ExitCode int           `json:"exit_code"` // 128 + signal number if a signal ended it
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Stopped  StoppedBy     `json:"stopped_by,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// StoppedBy is who stopped a background command; "" if it ended by itself or by its timeout.
type StoppedBy string

// Values of StoppedBy.
const (
	StoppedByAgent StoppedBy = "agent"   // with a tool
	StoppedByUser  StoppedBy = "user"    // the agent is told
	StoppedByClose StoppedBy = "session" // the session was closed
)

// Description describes a tool call to its approver.
type Description struct {
	Preview string   `json:"preview,omitempty"` // the tool's own text, such as a plan, or the commands in a line
	Diff    string   `json:"diff,omitempty"`    // the changes that the call would make to files
	Notes   []string `json:"notes,omitempty"`   // such as a file that changes without a diff
	Parts   []string `json:"parts,omitempty"`   // command parts that need approval, and why
}

// Grant widens an approval beyond the call, to exactly those calls that its rules allow.
type Grant struct {
	Text  string   `json:"text"` // shown to the approver
	Rules []string `json:"rules"`
}

// ApprovalRequested asks for approval of a tool call, and ApprovalResolved is the answer.
type (
	ApprovalRequested struct {
		ID        string          `json:"id"` // tool call id
		Name      string          `json:"name"`
		Tool      string          `json:"tool,omitempty"`    // the registered tool name, if the model used an alias
		Version   string          `json:"version,omitempty"` // tool version
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Accesses  []policy.Access `json:"accesses"` // null if the tool did not declare them
		Rule      string          `json:"rule,omitempty"`
		Code      string          `json:"code,omitempty"` // reason code, for programs
		Reason    string          `json:"reason"`
		Mode      policy.Mode     `json:"mode,omitempty"`   // permission mode in which the call was judged
		Role      string          `json:"role,omitempty"`   // tool role, if the session handles the call itself
		Grants    []Grant         `json:"grants,omitempty"` // wider approvals, narrowest first
		Description
	}
	ApprovalResolved struct {
		ID        string          `json:"id"`
		Allowed   bool            `json:"allowed"`
		Scope     tool.Scope      `json:"scope,omitempty"`
		Rules     []string        `json:"rules,omitempty"`     // what else the scope covers
		Arguments json.RawMessage `json:"arguments,omitempty"` // replace the call's arguments
		Reason    string          `json:"reason,omitempty"`    // for the model
		Abort     bool            `json:"abort,omitempty"`     // stop the work
		// Deferred means that no call was waiting for the answer: it runs when the work continues.
		Deferred bool `json:"deferred,omitempty"`
	}
)
