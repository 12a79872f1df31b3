package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/env"
)

const (
	maxOutput  = 256 << 10 // bytes that a command may print
	maxContext = 10_000    // bytes for the model
)

// command runs a command hook and reads its answer. At the timeout, the command and all its children are killed.
func (s *Set) command(ctx context.Context, e env.Environment, h Hook, in Input) (Output, error) {
	stdin, err := json.Marshal(in)
	if err != nil {
		return Output{}, err
	}
	res, err := env.Exec(ctx, e, env.Command{
		Line:      h.Command,
		Env:       s.vars(in),
		Stdin:     bytes.NewReader(append(stdin, '\n')),
		Timeout:   h.timeout(),
		MaxOutput: maxOutput,
	})
	stderr := strings.TrimSpace(res.Stderr)
	switch {
	case err != nil:
		return Output{}, err
	case res.TimedOut:
		return Output{}, fmt.Errorf("it took longer than %v", h.timeout())
	case res.Code == 2:
		return blocked(in.Event, limit(cmp.Or(stderr, "no reason given"))), nil
	case res.Code != 0:
		return Output{}, fmt.Errorf("exit code %d%s", res.Code, after(": ", limit(stderr)))
	case res.Dropped > 0:
		return Output{}, fmt.Errorf("it printed more than %d KiB", maxOutput>>10)
	}
	return parse(in.Event, res.Stdout)
}

// vars returns the environment variables for a command.
func (s *Set) vars(in Input) map[string]string {
	dir := cmp.Or(s.dir, in.Dir)
	return map[string]string{
		"CLAUDE_PROJECT_DIR": dir, "REINS_PROJECT_DIR": dir,
		"HOOK_EVENT": string(in.Event), "HOOK_TOOL_NAME": in.Tool, "HOOK_SESSION_ID": in.Session, "HOOK_CWD": in.Dir,
	}
}

// blocked returns the output for exit code 2. If the event cannot be blocked, the reason is a message for the user.
func blocked(e Event, reason string) Output {
	if e.Blocks() || e.reports() {
		return Output{Decision: Deny, Reason: reason}
	}
	return Output{Message: reason}
}

// answer is the JSON that a command prints.
type answer struct {
	Continue      *bool     `json:"continue"`
	StopReason    string    `json:"stopReason"`
	SystemMessage string    `json:"systemMessage"`
	Decision      string    `json:"decision"`
	Permission    string    `json:"permissionDecision"` // belongs in hookSpecificOutput, but is accepted here
	Reason        string    `json:"reason"`
	Specific      *specific `json:"hookSpecificOutput"`

	Restrict     *Restriction `json:"permissionUpdate"`
	Notification *struct {
		Title string `json:"title"`
		Body  string `json:"body"`
		Level string `json:"level"`
	} `json:"notification"`
}

type specific struct {
	Event      string          `json:"hookEventName"`
	Permission string          `json:"permissionDecision"`
	Reason     string          `json:"permissionDecisionReason"`
	Input      json.RawMessage `json:"updatedInput"`
	Context    string          `json:"additionalContext"`
	Response   json.RawMessage `json:"updatedToolOutput"`
	MCP        json.RawMessage `json:"updatedMCPToolOutput"`
	Decision   *struct {       // PermissionRequest
		Behavior  string `json:"behavior"`
		Message   string `json:"message"`
		Interrupt bool   `json:"interrupt"`
	} `json:"decision"`
}

// parse reads command output: a JSON object, or plain text. A decision counts even if text precedes the object.
func parse(e Event, stdout string) (Output, error) {
	text := strings.TrimSpace(stdout)
	if _, object, found := strings.Cut("\n"+text, "\n{"); found && e.Blocks() && !e.textIsContext() {
		text = "{" + object
	}
	if !strings.HasPrefix(text, "{") {
		if e.textIsContext() {
			return Output{Context: limit(text)}, nil
		}
		return Output{}, nil
	}
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return Output{}, fmt.Errorf("its output is not valid JSON: %w", err)
	}
	return a.output(e)
}

// output translates an answer.
func (a answer) output(e Event) (Output, error) {
	out := Output{Message: limit(a.SystemMessage), Reason: limit(a.Reason)}
	var err error
	if out.Decision, err = decision(cmp.Or(a.Decision, a.Permission)); err != nil {
		return out, err
	}
	if a.Continue != nil && !*a.Continue {
		out.Stop, out.StopReason = true, limit(a.StopReason)
	}
	if n := a.Notification; n != nil {
		out.add(Output{Message: limit(n.Body), Title: limit(n.Title), Level: n.Level})
	}
	if a.Restrict != nil {
		out.Restrict = []Restriction{*a.Restrict}
	}
	if sp := a.Specific; sp != nil {
		if err := sp.add(e, &out); err != nil {
			return out, err
		}
	}
	return out, out.check(e)
}

func (sp *specific) add(e Event, out *Output) error {
	if sp.Event != "" && sp.Event != string(e) {
		return fmt.Errorf("hookEventName is %q, not %s", sp.Event, e)
	}
	own, err := decision(sp.Permission)
	if err != nil {
		return err
	}
	out.add(Output{
		Decision: own,
		Reason:   limit(sp.Reason),
		Context:  limit(sp.Context),
		Input:    present(sp.Input),
		Response: text(sp.Response, sp.MCP),
	})
	if d := sp.Decision; d != nil {
		own, err := decision(d.Behavior)
		if err != nil {
			return err
		}
		out.add(Output{Decision: own, Reason: limit(d.Message), Stop: d.Interrupt, StopReason: limit(d.Message)})
	}
	return nil
}

// decision accepts every spelling that Claude Code and codex use for a decision.
func decision(name string) (Decision, error) {
	switch name {
	case "":
		return None, nil
	case "allow", "approve":
		return Allow, nil
	case "ask", "defer":
		return Ask, nil
	case "deny", "block":
		return Deny, nil
	}
	return None, fmt.Errorf("unknown decision %q", name)
}

var levels = []string{"info", "success", "warning", "error", "progress"}

// check rejects an answer that could be misunderstood.
func (o Output) check(e Event) error {
	_, err := decision(string(o.Decision))
	for _, r := range o.Restrict {
		switch {
		case r.Tool == "":
			return errors.New("its permissionUpdate names no tool")
		case r.Behavior != Ask && r.Behavior != Deny:
			return fmt.Errorf("its permissionUpdate has the behavior %q; hooks can only restrict: use ask or deny", r.Behavior)
		}
	}
	switch {
	case err != nil:
		return err
	case o.Level != "" && !slices.Contains(levels, o.Level):
		return fmt.Errorf("unknown notification level %q: use %s", o.Level, strings.Join(levels, ", "))
	case o.Input == nil:
		return nil
	case e != PreToolUse:
		return fmt.Errorf("%s hooks cannot change the input of a tool", e)
	case !json.Valid(o.Input) || !bytes.HasPrefix(bytes.TrimSpace(o.Input), []byte("{")):
		return errors.New("the changed input is not a JSON object")
	}
	return nil
}

func present(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// text returns the first of the values as text.
func text(values ...json.RawMessage) *string {
	for _, raw := range values {
		if raw = present(raw); raw != nil {
			s := ""
			if json.Unmarshal(raw, &s) != nil {
				s = string(raw)
			}
			return &s
		}
	}
	return nil
}

// limit shortens text for the model and the user.
func limit(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxContext {
		return s
	}
	n := maxContext
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + fmt.Sprintf("\n[... %d more bytes]", len(s)-n)
}

func after(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
