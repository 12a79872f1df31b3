package wire

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// efforts lists the known efforts, least first.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Effort returns the supported effort nearest to an effort, the greater of two that are equally near. Only "none" may
// become "none". It returns an unknown effort, and any effort if none are listed, unchanged.
func Effort(effort string, supported []string) string {
	want := slices.Index(efforts, effort)
	if want < 0 || slices.Contains(supported, effort) {
		return effort
	}
	best, distance := effort, len(efforts)
	for _, s := range supported {
		at := slices.Index(efforts, s)
		gap := max(at-want, want-at)
		if at > 0 && (gap < distance || gap == distance && at > want) {
			best, distance = s, gap
		}
	}
	return best
}

// CheckSampling returns an error if the request sets a temperature, top_p or top_k that the model refuses.
func CheckSampling(r *llm.Request, rules llm.Rules, thinks bool) error {
	var set, changed []string
	note := func(name string, given, standard bool) {
		if given {
			set = append(set, name)
		}
		if given && !standard {
			changed = append(changed, name)
		}
	}
	note("temperature", r.Temperature != nil, r.Temperature != nil && *r.Temperature == 1)
	note("top_p", r.TopP != nil, r.TopP != nil && *r.TopP == 1)
	note("top_k", r.TopK != nil, false)
	switch {
	case len(set) > 0 && rules.Sampling.Forbids(thinks):
		return refused(r.Model, "does not accept %s; set the effort instead", set)
	case len(changed) > 0 && rules.Sampling == llm.RefusedChanged:
		return refused(r.Model, "accepts only the default %s; do not set it", changed)
	case r.Temperature != nil && r.TopP != nil && rules.Sampling == llm.RefusedBoth:
		return refused(r.Model, "does not accept %s together; set one of them", []string{"temperature", "top_p"})
	}
	return nil
}

func refused(model, format string, names []string) error {
	return llm.Errorf(llm.ErrConfiguration, "", "%s "+format, model, strings.Join(names, " and "))
}

// CheckCacheTTL returns an error if the request sets a cache lifetime that the model does not accept for these request
// members.
func CheckCacheTTL(r *llm.Request, rules llm.Rules, members ...string) error {
	switch {
	case r.CacheTTL == "":
	case r.NoCache:
		return llm.Errorf(
			llm.ErrConfiguration, "",
			"a request without a cache cannot have the cache lifetime %q; leave one out", r.CacheTTL,
		)
	case !slices.Contains(members, rules.Cache):
		return llm.Errorf(llm.ErrConfiguration, "", "%s has no cache lifetime that can be set; leave out %q", r.Model, r.CacheTTL)
	case !slices.Contains(rules.CacheTTLs, r.CacheTTL):
		return llm.Errorf(llm.ErrConfiguration, "", "%s does not accept the cache lifetime %q; use %s",
			r.Model, r.CacheTTL, strings.Join(rules.CacheTTLs, " or "))
	}
	return nil
}
