package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/tool"
)

// maxQuestion limits the size of a question, in bytes. A call that cannot be shown in full is refused.
const maxQuestion = 256 << 10

// Answers to a question, and the key that it has in requests and responses.
const (
	allowOnce   = "allow once"
	deny        = "deny"
	decisionKey = "decision"
	questionKey = "approval"
)

// form is the answer schema.
var form = json.RawMessage(
	`{"type":"object","properties":{"decision":{"type":"string","title":"Decision","description":"Whether this call may run",` +
		`"enum":["allow once","deny"],"default":"deny"}},"required":["decision"]}`,
)

// approver approves or refuses one call.
type approver struct {
	server    *Server
	req       *sdk.CallToolRequest
	otherwise func(context.Context, tool.Request) (tool.Approval, error) // for clients that cannot ask; nil refuses

	question *sdk.CallToolResult // asks the client, if the call is pending
}

// approve asks the client's user. With older protocols it sends the question and waits. Since 2026-07-28, the question
// is the call's result, and the client repeats the call with the answer.
func (a *approver) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if guard := a.server.config.Guard; guard != nil {
		if refused := guard(ctx, r); refused != nil {
			refused.Allow = false
			return *refused, nil
		}
	}
	client := a.req.Session.InitializeParams()
	if !canAsk(client) {
		if a.otherwise == nil {
			return tool.Approval{
				Message: fmt.Sprintf("it needs approval (%s), but the MCP client cannot ask its user", r.Decision.Reason),
			}, nil
		}
		return a.otherwise(ctx, r)
	}
	text := a.server.config.Describe(ctx, r)
	if secrets := a.server.config.Pipeline.Secrets; secrets != nil {
		text = secrets.Text(text) // clients may show it to a model
	}
	if len(text) > maxQuestion {
		return tool.Approval{
			Message: fmt.Sprintf(
				"it needs approval (%s), but it is too large to be shown to the user; make smaller changes",
				r.Decision.Reason,
			),
		}, nil
	}
	ask := &sdk.ElicitParams{Mode: "form", Message: text, RequestedSchema: form}
	if client.ProtocolVersion < asksByResult {
		res, err := a.req.Session.Elicit(ctx, ask)
		if err != nil {
			return tool.Approval{}, fmt.Errorf("the MCP client did not ask its user: %w", err)
		}
		return approval(res), nil
	}
	about := digest(r.Spec.Name, string(r.Call.Args), text)
	if res, ok := a.req.Params.InputResponses[questionKey].(*sdk.ElicitResult); ok &&
		a.server.open.answered(a.req.Params.RequestState, about) {
		return approval(res), nil
	}
	a.question = &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{questionKey: ask}, RequestState: a.server.open.ask(about),
	}
	return tool.Approval{}, tool.ErrPending
}

// asksByResult is the first protocol version in which servers cannot send requests to clients.
const asksByResult = "2026-07-28"

// canAsk reports whether a client can show forms to its user.
func canAsk(client *sdk.InitializeParams) bool {
	if client == nil || client.Capabilities == nil || client.Capabilities.Elicitation == nil {
		return false
	}
	e := client.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // clients that declare no mode support forms
}

// approval returns the user's answer. Everything except an explicit permission is a refusal.
func approval(res *sdk.ElicitResult) tool.Approval {
	switch {
	case res.Action == "accept" && res.Content[decisionKey] == allowOnce:
		return tool.Approval{Allow: true}
	case res.Action == "cancel":
		return tool.Approval{Message: "the user dismissed the question"}
	}
	return tool.Approval{Message: "the user said no"}
}

// describe is the default for Config.Describe.
func describe(_ context.Context, r tool.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s?\n  arguments: %s\n", r.Spec.Name, r.Call.Args)
	for _, a := range r.Accesses {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	fmt.Fprintf(&b, "  why: %s\n", r.Decision.Reason)
	return b.String()
}

// maxOpen limits the questions without an answer.
const maxOpen = 1000

// questions holds questions that clients have not answered yet. Each can be answered once, and only for the same call.
type questions struct {
	mu    sync.Mutex
	order []string
	about map[string][sha256.Size]byte
}

func digest(parts ...string) [sha256.Size]byte {
	b, _ := json.Marshal(parts) // encoding strings cannot fail
	return sha256.Sum256(b)
}

// ask returns the ID of a new question. The oldest question is dropped if there are too many.
func (q *questions) ask(about [sha256.Size]byte) (id string) {
	id = rand.Text()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.about == nil {
		q.about = make(map[string][sha256.Size]byte)
	}
	if len(q.order) == maxOpen {
		delete(q.about, q.order[0])
		q.order = q.order[1:]
	}
	q.about[id], q.order = about, append(q.order, id)
	return id
}

// answered closes a question, and reports whether it was open and about the same call.
func (q *questions) answered(id string, about [sha256.Size]byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, ok := q.about[id]
	delete(q.about, id)
	q.order = slices.DeleteFunc(q.order, func(open string) bool { return open == id })
	return ok && asked == about
}
