package wire

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
)

func TestLimits_Defaults(t *testing.T) {
	want := llm.Limits{
		Connect: 30 * time.Second, FirstByte: 300 * time.Second, Unary: 900 * time.Second, Idle: 120 * time.Second,
		Call: 3600 * time.Second, MaxEvent: 8_388_608, MaxTotal: 8_388_608,
	}
	if got := withDefaults(llm.Limits{}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if maxInline != 104_857_600 {
		t.Errorf("the limit for inline files is %d bytes, want 104857600", maxInline)
	}
}

func TestRedirects_AreFollowedFiveTimesOnTheSameHost(t *testing.T) {
	request := func(address string) *http.Request {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{URL: u}
	}
	first := request("https://a.test/x")
	for _, tt := range []struct {
		to      string
		earlier int
		follows bool
	}{
		{"https://a.test/y", 1, true},
		{"https://a.test/y", 4, true},
		{"https://a.test/y", 5, false},
		{"https://b.test/x", 1, false},
		{"http://a.test/x", 1, false},
	} {
		via := make([]*http.Request, tt.earlier)
		for i := range via {
			via[i] = first
		}
		if err := NewHTTPClient(llm.Limits{}).CheckRedirect(request(tt.to), via); (err == nil) != tt.follows {
			t.Errorf("redirect %d to %s: got %v, want followed %v", tt.earlier, tt.to, err, tt.follows)
		}
	}
}

// TestWatch_TheIdlePhaseIsTheLast is about transports that report a request as written after its answer
// has begun.
func TestWatch_TheIdlePhaseIsTheLast(t *testing.T) {
	w := newWatch(t.Context(), llm.Limits{Connect: time.Hour, FirstByte: time.Hour, Idle: time.Hour, Call: time.Hour}, true)
	defer w.stop()
	w.enter(w.first)
	w.enter(w.idle)
	w.enter(w.first)
	if w.phase.Load() != w.idle {
		t.Errorf("the phase is %q, want the idle phase", w.phase.Load().what)
	}
}
