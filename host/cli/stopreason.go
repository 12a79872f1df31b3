package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
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
	return show.Stop(r.Outcome)
}

// stopped says which flag set the limit that was reached, and how far the session has come.
func (r reached) stopped(limit event.Limit) string {
	earlier := ""
	if r.resumed {
		earlier = ", earlier runs included"
	}
	switch limit {
	case event.LimitTreeCost:
		return fmt.Sprintf("stopped: the session has cost %s of the %s that --budget allows%s", show.SmallPrice(r.cost), show.SmallPrice(r.budget), earlier)
	case event.LimitTurns:
		return fmt.Sprintf("stopped: the session has made %s, and --max-turns allows %d%s", show.Plural(r.limit.Value, "model call"), r.maxTurns, earlier)
	case event.LimitToolRounds:
		return fmt.Sprintf("stopped: the prompt has taken %s, the maximum that --max-rounds allows", show.Plural(r.limit.Value, "tool round"))
	}
	return show.Limit(event.TurnLimit{Limit: limit})
}

// howToGoOn names the commands that go on with the session of a run, or take it back.
func howToGoOn(r result) string {
	if r.elsewhere {
		return fmt.Sprintf("session %s · continue: reins run --resume %s · take back: reins undo %s", r.SessionID, r.SessionID, r.SessionID)
	}
	return fmt.Sprintf("session %s · continue: reins run --continue · take back: reins undo", r.SessionID)
}
