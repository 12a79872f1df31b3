package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
)

// reached is how far a run came with what its flags allow.
type reached struct {
	budget   float64
	maxTurns int
	deadline time.Duration

	limit   event.TurnLimit // the one that it stopped at, if it did
	cost    float64         // of the whole session, in US dollars
	resumed bool            // there were earlier runs, which count
}

// stopReason says why a run ended before its task did, or "".
func stopReason(r result) string {
	switch {
	case errors.Is(r.err, errDeadline):
		return fmt.Sprintf("%v: --deadline allows the run %v", r.err, r.reached.deadline)
	case r.err != nil:
		return oneLine(r.err)
	case r.Limit != "":
		return r.reached.stopped(r.Limit)
	}
	switch r.Outcome {
	case agent.StatusLoop:
		return "stopped because the agent goes in circles"
	case agent.StatusCutOff:
		return "stopped because the model's answer is longer than it can give"
	case agent.StatusPaused:
		return "stopped because the provider paused too often"
	case agent.StatusRefused:
		return "the model or the provider's filter refused to go on"
	}
	return ""
}

// stopped says which flag set the limit that was reached, and how far the session has come.
func (r reached) stopped(limit string) string {
	earlier := ""
	if r.resumed {
		earlier = ", earlier runs included"
	}
	switch limit {
	case "tree_cost":
		return fmt.Sprintf("stopped: the session has cost %s of the %s that --budget allows%s", smallPrice(r.cost), smallPrice(r.budget), earlier)
	case "max_turns":
		return fmt.Sprintf("stopped: the session has made %s of the model, and --max-turns allows %d%s", plural(r.limit.Value, "call"), r.maxTurns, earlier)
	case "max_tool_rounds":
		return fmt.Sprintf("stopped: the prompt has taken %s of tools, which is all that --max-rounds allows", plural(r.limit.Value, "round"))
	}
	return limitText(event.TurnLimit{Limit: limit})
}

// smallPrice is an amount that is not to look like nothing if it is something.
func smallPrice(dollars float64) string {
	if dollars > 0 && dollars < 0.0001 {
		return fmt.Sprintf("$%.7f", dollars)
	}
	return price(&dollars)
}

// limitText says which limit a session reached, whoever had set it.
func limitText(d event.TurnLimit) string {
	switch {
	case d.Detail != "":
		return "stopped: " + summary(d.Detail)
	case d.Limit == "max_turns":
		return "stopped at the limit of " + plural(d.Value, "call") + " of the model"
	case d.Limit == "max_tool_rounds":
		return "stopped at the limit of " + plural(d.Value, "round") + " of tools"
	}
	return "stopped at the limit " + inLine(d.Limit)
}

// howToGoOn names the commands that go on with the session of a run, or take it back.
func howToGoOn(r result) string {
	if r.elsewhere {
		return fmt.Sprintf("session %s · reins run --resume %s to go on, reins undo %s to take it back", r.SessionID, r.SessionID, r.SessionID)
	}
	return fmt.Sprintf("session %s · reins run --continue to go on, reins undo to take it back", r.SessionID)
}
