package llm_test

import (
	"errors"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestCollect_ReturnsTheFinishedResponse(t *testing.T) {
	p := newFake("p", answer("hello"))
	resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{}))
	if err != nil || resp.Text() != "hello" {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestCollect_StreamThatJustStopsIsIncompleteAndRetryable(t *testing.T) {
	p := newFake("p", []step{{ev: llm.TextDelta{Text: "hel"}}})
	_, err := llm.Collect(p.Stream(t.Context(), &llm.Request{}))
	if e := wantKind(t, err, llm.ErrIncomplete); !e.Retryable() {
		t.Error("it is not retryable")
	}
}

func TestCollect_ReturnsTheError(t *testing.T) {
	boom := errors.New("boom")
	p := newFake("p", []step{{ev: llm.TextDelta{Text: "hel"}}, {err: boom}})
	if _, err := llm.Collect(p.Stream(t.Context(), &llm.Request{})); !errors.Is(err, boom) {
		t.Errorf("the error is %v", err)
	}
}

func TestError_RetryableKinds(t *testing.T) {
	retryable := map[llm.ErrorKind]bool{
		llm.ErrRateLimit: true, llm.ErrServer: true, llm.ErrTimeout: true, llm.ErrNetwork: true, llm.ErrIncomplete: true,
		llm.ErrAuthentication: false, llm.ErrAccessDenied: false, llm.ErrNotFound: false, llm.ErrInvalidRequest: false,
		llm.ErrContextLength: false, llm.ErrQuota: false, llm.ErrContentFilter: false, llm.ErrMalformed: false,
		llm.ErrCancelled: false, llm.ErrConfiguration: false, llm.ErrNoObject: false, llm.ErrUnknown: false,
	}
	for kind, want := range retryable {
		if got := (&llm.Error{Kind: kind}).Retryable(); got != want {
			t.Errorf("%s: retryable is %v", kind, got)
		}
		if !(&llm.Error{Kind: kind, Temporary: true}).Retryable() {
			t.Errorf("%s: not retryable although the provider says so", kind)
		}
	}
}

func TestError_HasEverythingInOneLine(t *testing.T) {
	e := &llm.Error{Kind: llm.ErrRateLimit, Provider: "p", Status: 429, Message: "slow down", RequestID: "r1"}
	if got, want := e.Error(), "p: rate limit (HTTP 429): slow down [request r1]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cause := errors.New("cause")
	if e := llm.Errorf(llm.ErrNetwork, "p", "it broke: %w", cause); !errors.Is(e, cause) || e.Error() != "p: network: it broke: cause" {
		t.Errorf("%q does not wrap its cause", e)
	}
}

func TestUsage_AddIsASumWithoutRaw(t *testing.T) {
	a := llm.Usage{Input: 1, Output: 2, Reasoning: 3, CacheRead: 4, CacheWrite: 5, CacheWriteLong: 6, Raw: []byte("{}")}
	sum := a.Add(a)
	if sum.Raw != nil || sum.Input != 2 || sum.Output != 4 || sum.Reasoning != 6 || sum.CacheRead != 8 || sum.CacheWrite != 10 || sum.CacheWriteLong != 12 {
		t.Errorf("the sum is %+v", sum)
	}
}
