package cli

import (
	"time"

	"github.com/reins-agent/reins/llm"
)

// time returns the current time.
func (h Host) time() time.Time {
	if h.now != nil {
		return h.now()
	}
	return time.Now()
}

// modelStatus returns what the list of models shows about the end of a model.
func modelStatus(m llm.Model, now time.Time) string {
	switch {
	case m.Ended(now):
		return "retired"
	case m.Ends != "":
		return "ends " + m.Ends
	}
	return "-"
}
