package agent

import (
	"errors"
	"time"

	"github.com/reins-agent/reins/llm"
)

// Status says how the work on an input ended.
type Status string

// The statuses. All leave a session that goes on with the next input, unless it was closed or the
// error was one that calling again cannot help: no access, or a conversation that is too long.
const (
	StatusDone          Status = "done"           // the model has nothing more to do
	StatusAwaitingInput Status = "awaiting_input" // it asked the user; the next input is the answer
	StatusLimit         Status = "limit"          // a limit was reached
	StatusCutOff        Status = "cut_off"        // its answer is longer than it can give
	StatusPaused        Status = "paused"         // the provider paused the turn too often
	StatusRefused       Status = "refused"        // the model or a filter refused
	StatusLoop          Status = "loop"           // it goes in circles
	StatusInterrupted   Status = "interrupted"    // the host stopped it
	StatusFailed        Status = "failed"         // an error ended it
)

// Outcome is what came of an input. Its figures are those of the agent itself; Session.Total counts
// subagents in.
type Outcome struct {
	Status   Status
	Text     string // the model's last answer
	Limit    string // which limit was reached
	Question string // what the model wants to know; it may be done and ask all the same
	Rounds   int    // of tools
	Turns    int    // of the model
	Usage    llm.Usage
	Cost     Cost
	Duration time.Duration
}

// Cost is money in US dollars. It is not known once a call had no known price.
type Cost struct {
	Dollars float64 `json:"dollars"`
	Known   bool    `json:"known"`
}

func (c Cost) add(dollars float64, known bool) Cost {
	return Cost{c.Dollars + dollars, c.Known && known}
}

// State is where a session is in its life.
type State string

// The states.
const (
	Idle          State = "IDLE"
	Processing    State = "PROCESSING"
	AwaitingInput State = "AWAITING_INPUT"
	Closed        State = "CLOSED"
)

// Errors of a session.
var (
	ErrClosed  = errors.New("the session is closed")
	ErrBusy    = errors.New("the session is at work on another input; use FollowUp or Steer to add to it")
	ErrNoInput = errors.New("the input is empty")
)
