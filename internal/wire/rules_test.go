package wire

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestEffort_IsTheNearestSupported(t *testing.T) {
	for _, test := range []struct{ effort, supported, want string }{
		{"high", "", "high"},
		{"", "low high", ""},
		{"turbo", "low high", "turbo"},
		{"medium", "low medium high", "medium"},
		{"medium", "low high max", "high"},
		{"high", "low medium xhigh", "xhigh"},
		{"max", "low medium xhigh", "xhigh"},
		{"none", "low high max", "low"},
		{"minimal", "low high max", "low"},
		{"minimal", "none low medium", "low"},
		{"minimal", "none high", "high"},
		{"none", "none high", "none"},
		{"low", "high", "high"},
	} {
		if got := Effort(test.effort, strings.Fields(test.supported)); got != test.want {
			t.Errorf("Effort(%q, %q) is %q, want %q", test.effort, test.supported, got, test.want)
		}
	}
}

func TestCheckSampling_RefusesUnsupportedSettings(t *testing.T) {
	temperature := func(v float64) llm.Request { return llm.Request{Model: "m", Temperature: &v} }
	both := llm.Request{Model: "m", Temperature: new(0.5), TopP: new(0.9)}
	for _, test := range []struct {
		request llm.Request
		refusal llm.Refusal
		thinks  bool
		want    string
	}{
		{llm.Request{Model: "m"}, llm.RefusedAlways, true, ""},
		{temperature(1), "", true, ""},
		{temperature(1), llm.RefusedAlways, false, "m does not accept temperature; set the effort instead"},
		{both, llm.RefusedAlways, false, "m does not accept temperature and top_p; set the effort instead"},
		{llm.Request{Model: "m", TopK: new(5)}, llm.RefusedAlways, false, "m does not accept top_k; set the effort instead"},
		{temperature(0), llm.RefusedThinking, true, "m does not accept temperature; set the effort instead"},
		{temperature(0), llm.RefusedThinking, false, ""},
		{temperature(0.5), llm.RefusedChanged, false, "m accepts only the default temperature; do not set it"},
		{temperature(1), llm.RefusedChanged, true, ""},
		{both, llm.RefusedBoth, false, "m does not accept temperature and top_p together; set one of them"},
		{temperature(0.5), llm.RefusedBoth, false, ""},
	} {
		err := CheckSampling(&test.request, llm.Rules{Sampling: test.refusal}, test.thinks)
		checkConfiguration(t, err, test.want)
	}
}

func TestCheckCacheTTL_RefusesUnsupportedLifetimes(t *testing.T) {
	rules := llm.Rules{Cache: "prompt_cache_options", CacheTTLs: []string{"30m", "12h"}}
	for _, test := range []struct {
		request llm.Request
		member  string
		want    string
	}{
		{llm.Request{Model: "m"}, "other", ""},
		{llm.Request{Model: "m", CacheTTL: "12h"}, "prompt_cache_options", ""},
		{llm.Request{Model: "m", CacheTTL: "1h"}, "prompt_cache_options", `m does not accept the cache lifetime "1h"; use 30m or 12h`},
		{llm.Request{Model: "m", CacheTTL: "12h"}, "cache_control", `m has no cache lifetime that can be set; leave out "12h"`},
		{llm.Request{Model: "m", CacheTTL: "12h", NoCache: true}, "prompt_cache_options",
			`a request without a cache cannot have the cache lifetime "12h"; leave one out`},
	} {
		checkConfiguration(t, CheckCacheTTL(&test.request, rules, test.member), test.want)
	}
}

func checkConfiguration(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("got %v, want no error", err)
		}
		return
	}
	e, ok := err.(*llm.Error)
	if !ok || e.Kind != llm.ErrConfiguration || e.Message != want {
		t.Errorf("got %v, want a configuration error: %s", err, want)
	}
}
