package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/llm"
)

// machine decides what a session does next. It is a plain value over what has happened: no I/O, no
// clock, no randomness, so that whoever feeds it the same facts gets the same decisions.
type machine struct {
	maxRounds, maxTurns int // 0 is no limit

	messages  []llm.Message    // the conversation, a system message first
	calls     []llm.ToolCall   // asked for and not answered yet
	answers   []llm.ToolResult // to the first of these calls, if a question to the user stands behind them
	question  string           // what the model wants to know from the user
	text      string           // the last answer, put together if it came in pieces
	rounds    int              // of tools for this input
	turns     int              // of the model in this session
	continues int              // of an answer that was cut off or paused
	ids       map[string]bool  // of all calls
	loop      loopDetector
	meter     compact.Meter
	facts     facts
	rewritten string // why the conversation may not continue the one that was sent last; "" if it does

	halt *stop // decided, and waiting to be said
}

// action is what to do next: callModel, runTools or stop.
type action interface{ action() }

type (
	callModel struct{}
	runTools  struct{ calls []llm.ToolCall }
	stop      struct {
		status Status
		limit  string
		value  int
	}
)

func (callModel) action() {}
func (runTools) action()  {}
func (stop) action()      {}

// maxContinues is how often in a row an answer that was cut off or paused is continued.
const maxContinues = 3

// next says what to do. It is called until it says stop.
func (m *machine) next() action {
	switch {
	case m.halt != nil:
		return *m.halt
	case len(m.calls) > 0:
		return runTools{m.calls}
	case m.maxRounds > 0 && m.rounds >= m.maxRounds:
		return stop{StatusLimit, "max_tool_rounds", m.rounds}
	case m.maxTurns > 0 && m.turns >= m.maxTurns:
		return stop{StatusLimit, "max_turns", m.turns}
	}
	return callModel{}
}

// input begins the work on a user's message.
func (m *machine) input(msg llm.Message) {
	m.resume()
	m.rounds = 0
	m.loop.reset()
	m.say(msg)
}

// resume begins to work again, after a question or with something new to do.
func (m *machine) resume() {
	m.halt, m.question, m.text, m.continues = nil, "", "", 0
}

// say puts a message into the conversation.
func (m *machine) say(msg llm.Message) {
	m.messages = append(m.messages, msg)
	m.meter.Add(msg)
	for _, c := range msg.ToolCalls() {
		if m.ids == nil {
			m.ids = make(map[string]bool)
		}
		m.ids[c.ID] = true
	}
}

// distinct is the message with the ids of its calls made different from all others. Some servers
// count them anew in every answer, which others do not take in a conversation.
func (m *machine) distinct(msg llm.Message) llm.Message {
	seen := make(map[string]bool)
	for i, p := range msg.Parts {
		c, ok := p.(llm.ToolCall)
		if !ok {
			continue
		}
		id := c.ID
		for n := 2; m.ids[c.ID] || seen[c.ID]; n++ {
			c.ID = fmt.Sprintf("%s_%d", id, n)
		}
		seen[c.ID] = true
		if c.ID != id {
			c.State = llm.State{}
			msg.Parts = slices.Clone(msg.Parts)
			msg.Parts[i] = c
		}
	}
	return msg
}

// answered takes in the model's answer, as whole gives it. It returns a message to be put into the
// conversation before the model goes on, if one is needed.
func (m *machine) answered(msg llm.Message, reason llm.FinishReason, u llm.Usage) (nudge string) {
	m.turns++
	m.question = ""
	if m.continues == 0 {
		m.text = ""
	}
	m.text += msg.Text()
	if len(msg.Parts) > 0 {
		m.say(msg)
	}
	m.meter.Reported(u)
	m.calls = msg.ToolCalls()
	switch reason {
	case llm.FinishContentFilter:
		m.end(StatusRefused)
	case llm.FinishLength, llm.FinishPause, llm.FinishError:
		return m.cutOff(reason)
	default:
		if len(m.calls) == 0 {
			m.end(StatusDone)
			m.question, m.continues = closingQuestion(m.text), 0
		}
	}
	return ""
}

// cutOff decides on an answer that did not come to its end.
func (m *machine) cutOff(reason llm.FinishReason) string {
	if len(m.calls) > 0 {
		return ""
	}
	if m.continues++; m.continues > maxContinues {
		m.end(map[llm.FinishReason]Status{
			llm.FinishLength: StatusCutOff, llm.FinishPause: StatusPaused, llm.FinishError: StatusFailed,
		}[reason])
		return ""
	}
	switch reason {
	case llm.FinishLength:
		return "Your answer was cut off because it reached the output limit. Go on exactly where it stopped, in smaller pieces."
	case llm.FinishError:
		return "Your last answer could not be understood by the API, most likely because of a malformed tool call. Try again."
	}
	return ""
}

// ran takes in the results of the calls, run or not, in their order. It returns what to tell the model about
// a loop, if it is in one.
func (m *machine) ran(results []llm.ToolResult) (warning string) {
	for i, r := range results {
		m.loop.add(m.calls[i], r.Text())
	}
	m.say(llm.ToolResults(results...))
	m.calls, m.answers = nil, nil
	m.rounds++
	m.continues = 0
	if !m.loop.tripped() {
		return ""
	}
	if m.loop.trips > 1 {
		m.end(StatusLoop)
	}
	return m.loop.warning()
}

// end makes the machine say stop from now on, until there is something to do again.
func (m *machine) end(s Status) { m.halt = &stop{status: s} }

// whole is the message without the tool calls that were cut off, if the answer was.
func whole(resp *llm.Response) llm.Message {
	msg := resp.Message
	msg.Role = llm.RoleAssistant
	switch resp.Finish.Reason {
	case llm.FinishStop, llm.FinishToolCalls:
		return msg
	}
	var parts []llm.Part
	for _, p := range msg.Parts {
		if c, ok := p.(llm.ToolCall); !ok || c.Custom || json.Valid([]byte(c.Arguments)) {
			parts = append(parts, p)
		}
	}
	msg.Parts = parts
	return msg
}

// closingQuestion is the last line of a text that ends by asking something, or "".
func closingQuestion(text string) string {
	text = strings.TrimRight(text, " \t\r\n*_`\")")
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "？") {
		return ""
	}
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
