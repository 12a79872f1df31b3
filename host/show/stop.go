package show

import "github.com/reins-agent/reins/agent"

// Stop returns why a session stopped before its task was done; "" if it did not, or if the error or the
// limit says it.
func Stop(status agent.Status) string {
	switch status {
	case agent.StatusLoop:
		return "stopped: the agent repeats itself"
	case agent.StatusCutOff:
		return "stopped: the answer is longer than the model's output limit"
	case agent.StatusPaused:
		return "stopped: the provider paused the answer too often"
	case agent.StatusRefused:
		return "the model or the provider's filter refused to continue"
	}
	return ""
}
