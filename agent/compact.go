package agent

import (
	"cmp"
	"context"
	"errors"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
)

// Compaction configures when and how a conversation is compacted. The zero value compacts only on request.
// The log keeps everything.
type Compaction struct {
	// At is the share of the context window at which the conversation is compacted, such as 0.8; 0 means never. If At
	// is set, a call that fails because the conversation is too long is repeated after compaction.
	At float64
	// To is the share of the window to compact to; 0 means half of At.
	To float64
	// PastPriceStep lets the conversation grow past the length above which tokens cost more. Otherwise it is compacted
	// before.
	PastPriceStep bool
	// NoModel compacts without asking the model for a summary.
	NoModel bool
	// Results is the maximum tool result length in characters before it is condensed for the model; 0 leaves that to
	// tool limits.
	Results int
}

// ErrNothingToCompact is returned if the conversation cannot be made smaller.
var ErrNothingToCompact = errors.New("nothing to compact")

// Compact compacts the conversation now, with a summary by the model unless Compaction.NoModel is set. It returns
// ErrBusy while the session works. If it fails, nothing changes.
func (s *Session) Compact(ctx context.Context) (d event.Compaction, err error) {
	ctx, err = s.begin(ctx)
	if err != nil {
		return event.Compaction{}, err
	}
	defer func() { s.release(Outcome{}, err) }()
	if err = s.startHooks(ctx); err != nil {
		return d, err
	}
	for {
		s.tree.mu.Lock()
		a := s.state.Compact()
		s.tree.mu.Unlock()
		switch a := a.(type) {
		case step.Append:
			d := a.Data.(event.Compaction)
			s.shrink(ctx, d)
			return d, s.keep(ctx)
		case step.CallModel:
			s.beforeShrinking(ctx, manualCompact)
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
