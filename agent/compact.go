package agent

import (
	"cmp"
	"context"
	"errors"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
)

// Compaction says when and how a conversation is made smaller. The zero value never does it
// automatically. The log keeps everything; what the model no longer sees, people and programs still do.
type Compaction struct {
	// At is the share of the model's context window at which the conversation is made smaller,
	// such as 0.8; 0 is never. With it, a call that fails because the conversation is too long
	// is made once more after compaction.
	At float64
	// To is the share that it is brought down to; 0 is half of At.
	To float64
	// NoModel makes it smaller without asking the model for a summary.
	NoModel bool
	// Results is the length in characters beyond which a single tool result is condensed on its
	// way to the model; 0 leaves that to the limits of the tools.
	Results int
}

// ErrNothingToCompact says that the conversation cannot be made smaller.
var ErrNothingToCompact = errors.New("nothing to compact")

// Compact makes the conversation smaller now: by a summary, or without the model if the session is
// set up so. If it fails, nothing has changed.
func (s *Session) Compact(ctx context.Context) (d event.Compaction, err error) {
	ctx, err = s.begin(ctx)
	if err != nil {
		return event.Compaction{}, err
	}
	defer func() { s.release(Outcome{}, err) }()
	for {
		s.tree.mu.Lock()
		a := s.state.Compact()
		s.tree.mu.Unlock()
		switch a := a.(type) {
		case step.Append:
			s.record(a.Data)
			return a.Data.(event.Compaction), s.keep(ctx)
		case step.CallModel:
			if err := s.callModel(ctx, a); err != nil {
				return d, err
			}
			if ctx.Err() != nil {
				return d, cmp.Or(s.failure, context.Cause(ctx))
			}
		case step.Stop:
			if a.Error == nil {
				return d, ErrNothingToCompact
			}
			s.record(event.Warning{Code: event.WarningSummaryFailed, Message: a.Error.Message})
			return d, cmp.Or(s.failure, s.reason(a.Error))
		}
	}
}
