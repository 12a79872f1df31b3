package rules

import (
	"context"

	"github.com/reins-agent/reins/policy"
)

// ReadOnly denies calls that may change something: calls that do not declare their accesses, and calls that [Policy]
// would not allow in plan mode. It allows reading anywhere; combine it with others to limit that.
func ReadOnly() policy.Policy { return readOnly{} }

type readOnly struct{}

// Asks returns false.
func (readOnly) Asks(policy.Mode) bool { return false }

// Decide implements policy.Policy.
func (readOnly) Decide(ctx context.Context, q policy.Query) policy.Decision {
	q.Mode = policy.ModePlan
	d := Policy{Allow: []Rule{{text: "Read", kinds: []policy.Kind{policy.Read}}}}.Decide(ctx, q)
	if d.Verdict != policy.Allow {
		d.Verdict, d.Rule = policy.Deny, "read-only"
	}
	return d
}
