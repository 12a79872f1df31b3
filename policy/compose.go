package policy

import (
	"context"
	"slices"
)

// All combines policies: the strictest decision wins, and the first among equally strict decisions. Without policies it
// denies.
func All(policies ...Policy) Policy {
	decide := Func(func(ctx context.Context, q Query) Decision {
		d := Decision{Rule: "all", Reason: "there is no policy"}
		for i, p := range policies {
			if next := p.Decide(ctx, q); i == 0 || next.Verdict < d.Verdict {
				d = next
			}
		}
		return d
	})
	for _, p := range policies {
		if Asks(p, "") {
			return decide
		}
	}
	return unasking{decide}
}

// Only denies every tool except the named ones.
func Only(tools ...string) Policy {
	return unasking{Func(func(_ context.Context, q Query) Decision {
		if slices.Contains(tools, q.Tool) {
			return Decision{Verdict: Allow, Code: "listed", Rule: "only", Reason: q.Tool + " is on the list of allowed tools"}
		}
		return Decision{Code: "not_listed", Rule: "only", Reason: q.Tool + " is not on the list of allowed tools"}
	})}
}

// Except denies the named tools and allows all others.
func Except(tools ...string) Policy {
	return unasking{Func(func(_ context.Context, q Query) Decision {
		if slices.Contains(tools, q.Tool) {
			return Decision{Code: "listed", Rule: "except", Reason: q.Tool + " is on the list of denied tools"}
		}
		return Decision{Verdict: Allow, Code: "not_listed", Rule: "except", Reason: q.Tool + " is not on the list of denied tools"}
	})}
}
