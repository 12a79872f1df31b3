package llm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/llm"
)

var overloaded = &llm.Error{Kind: llm.ErrServer, Status: 529, Message: "overloaded"}

// noJitter makes every wait the whole delay.
func noJitter() float64 { return 1 }

// outcome is a retried call's result.
type outcome struct {
	waits   []time.Duration // as announced
	elapsed time.Duration   // on the fake clock
	calls   int
	retries []llm.Retry
	resp    *llm.Response
	err     error
}

func runRetry(t *testing.T, ctx context.Context, policy llm.RetryPolicy, turns ...[]step) (out outcome) {
	t.Helper()
	p := newFake("p", turns...)
	c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{policy.Middleware()}})
	start := time.Now()
	for ev, err := range c.Stream(ctx, &llm.Request{}) {
		out.err = err
		switch ev := ev.(type) {
		case llm.Retry:
			out.retries = append(out.retries, ev)
			out.waits = append(out.waits, ev.Delay)
		case llm.Finish:
			out.resp = ev.Response
		}
	}
	out.elapsed = time.Since(start)
	out.calls = p.calls()
	return out
}

func TestRetry_BacksOffExponentiallyUpToTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := llm.RetryPolicy{Retries: 8, Base: time.Second, Cap: 20 * time.Second, Jitter: noJitter}
		out := runRetry(t, t.Context(), policy, failure(overloaded))
		want := []time.Duration{1, 2, 4, 8, 16, 20, 20, 20}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(out.waits, want) {
			t.Errorf("waits are %v, want %v", out.waits, want)
		}
		if out.elapsed != 91*time.Second {
			t.Errorf("%v passed, want the sum of the waits", out.elapsed)
		}
		if out.calls != 9 || !errors.Is(out.err, overloaded) {
			t.Errorf("%d calls, error %v", out.calls, out.err)
		}
	})
}

func TestRetry_JitterKeepsEveryWaitBetweenHalfAndWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, j := range []float64{0, 0.5, 0.999} {
			policy := llm.RetryPolicy{Jitter: func() float64 { return j }}
			out := runRetry(t, t.Context(), policy, failure(overloaded))
			want := time.Duration((0.5 + j/2) * float64(time.Second))
			if d := out.waits[0] - want; d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("with jitter %v the first wait is %v, want %v", j, out.waits[0], want)
			}
		}
		out := runRetry(t, t.Context(), llm.RetryPolicy{Retries: 50}, failure(overloaded))
		for i, w := range out.waits {
			if whole := min(time.Second<<min(i, 10), time.Minute); w < whole/2 || w > whole {
				t.Errorf("wait %d is %v, want it between %v and %v", i, w, whole/2, whole)
			}
		}
	})
}

func TestRetry_WaitsStaySaneForManyAttemptsAndLongBases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := llm.RetryPolicy{Retries: 100, Base: time.Hour, Cap: 24 * time.Hour, Jitter: noJitter}
		out := runRetry(t, t.Context(), policy, failure(overloaded))
		if last := out.waits[99]; last != policy.Cap {
			t.Errorf("the last wait is %v, want the cap", last)
		}
	})
}

func TestRetry_DefaultIsTwoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if out := runRetry(t, t.Context(), llm.RetryPolicy{}, failure(overloaded)); out.calls != 3 {
			t.Errorf("%d calls were made, want 3", out.calls)
		}
		if out := runRetry(t, t.Context(), llm.RetryPolicy{Retries: -1}, failure(overloaded)); out.calls != 1 {
			t.Errorf("%d calls were made without retries", out.calls)
		}
	})
}

func TestRetry_SuccessEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := runRetry(t, t.Context(), llm.RetryPolicy{}, failure(overloaded), answer("at last"))
		if out.err != nil || out.resp.Text() != "at last" || out.calls != 2 {
			t.Fatalf("%+v", out)
		}
		r := out.retries[0]
		if r.Attempt != 2 || r.Discard || !errors.Is(r.Err, overloaded) {
			t.Errorf("the retry is announced as %+v", r)
		}
	})
}

func TestRetry_OnlyTemporaryErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []llm.ErrorKind{llm.ErrAuthentication, llm.ErrQuota, llm.ErrContextLength, llm.ErrInvalidRequest, llm.ErrCancelled, llm.ErrMalformed} {
			if out := runRetry(t, t.Context(), llm.RetryPolicy{}, failure(&llm.Error{Kind: kind})); out.calls != 1 {
				t.Errorf("%s was tried %d times", kind, out.calls)
			}
		}
		plain := []step{{err: errors.New("not ours")}}
		if out := runRetry(t, t.Context(), llm.RetryPolicy{}, plain); out.calls != 1 {
			t.Errorf("an unknown error was tried %d times", out.calls)
		}
		conflict := &llm.Error{Kind: llm.ErrInvalidRequest, Status: 409, Temporary: true}
		if out := runRetry(t, t.Context(), llm.RetryPolicy{}, failure(conflict)); out.calls != 3 {
			t.Errorf("a conflict was tried %d times", out.calls)
		}
	})
}

func TestRetry_RetryAfterUnderTheCapIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 37 * time.Second}
		out := runRetry(t, t.Context(), llm.RetryPolicy{Jitter: noJitter}, failure(limited), answer("ok"))
		if out.err != nil || out.elapsed != 37*time.Second {
			t.Errorf("%v passed, error %v; want exactly what the provider asked for", out.elapsed, out.err)
		}
	})
}

func TestRetry_RetryAfterOverTheCapIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 61 * time.Second}
		out := runRetry(t, t.Context(), llm.RetryPolicy{}, failure(limited), answer("too late"))
		if e := wantKind(t, out.err, llm.ErrRateLimit); e.RetryAfter != 61*time.Second {
			t.Errorf("the caller is told to wait %v", e.RetryAfter)
		}
		if out.calls != 1 || out.elapsed != 0 {
			t.Errorf("%d calls in %v", out.calls, out.elapsed)
		}
	})
}

func TestRetry_BudgetLimitsTotalDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := llm.RetryPolicy{Retries: 100, Budget: 10 * time.Second, Jitter: noJitter}
		out := runRetry(t, t.Context(), policy, failure(overloaded))
		if out.elapsed != 7*time.Second { // 1 + 2 + 4; 8 more would be over
			t.Errorf("%v were waited with a budget of 10s", out.elapsed)
		}
		if !errors.Is(out.err, overloaded) {
			t.Errorf("the error is %v", out.err)
		}
	})
}

func TestRetry_NothingIsRetriedOnceContentArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := []step{{ev: llm.Start{}}, {ev: llm.TextStart{}}, {ev: llm.TextDelta{Text: "half"}}, {err: overloaded}}
		out := runRetry(t, t.Context(), llm.RetryPolicy{}, turn, answer("whole"))
		if out.calls != 1 || !errors.Is(out.err, overloaded) {
			t.Errorf("%d calls, error %v", out.calls, out.err)
		}
	})
}

func TestRetry_StartIsNotContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := []step{{ev: llm.Start{}}, {ev: llm.Raw{Type: "ping"}}, {err: overloaded}}
		out := runRetry(t, t.Context(), llm.RetryPolicy{}, turn, answer("whole"))
		if out.err != nil || out.retries[0].Discard {
			t.Errorf("%+v", out)
		}
	})
}

func TestRetry_RestartTellsTheConsumerToDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := []step{{ev: llm.Start{}}, {ev: llm.TextDelta{Text: "half"}}, {err: overloaded}}
		out := runRetry(t, t.Context(), llm.RetryPolicy{Restart: true}, turn, answer("whole"))
		if out.err != nil || out.resp.Text() != "whole" {
			t.Fatalf("%+v", out)
		}
		if len(out.retries) != 1 || !out.retries[0].Discard {
			t.Errorf("the retries are %+v", out.retries)
		}
	})
}

func TestRetry_CancelDuringTheWaitEndsItAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(stop) })
		out := runRetry(t, ctx, llm.RetryPolicy{Jitter: noJitter}, failure(overloaded))
		e := wantKind(t, out.err, llm.ErrCancelled)
		if !errors.Is(e, stop) || !errors.Is(e, overloaded) {
			t.Errorf("%v does not wrap the cause and the last error", e)
		}
		if out.elapsed != 300*time.Millisecond || out.calls != 1 {
			t.Errorf("%d calls in %v", out.calls, out.elapsed)
		}
	})
}

func TestRetry_NoRetryIsAnnouncedWhenTheCallersTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		timeout := &llm.Error{Kind: llm.ErrTimeout}
		out := runRetry(t, ctx, llm.RetryPolicy{}, failure(timeout))
		if len(out.retries) != 0 || !errors.Is(out.err, timeout) {
			t.Errorf("%+v", out)
		}
	})
}

func TestRetry_ConsumerMayLeaveAtAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for leave := range 6 {
			p := newFake("p", failure(overloaded), answer("x"))
			c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{llm.RetryPolicy{}.Middleware()}})
			seen := 0
			for range c.Stream(t.Context(), &llm.Request{}) {
				if seen++; seen > leave {
					break
				}
			}
			if seen != leave+1 {
				t.Errorf("%d events arrived, want %d", seen, leave+1)
			}
		}
	})
}

func TestRetry_SessionWaitsAboutFiveMinutesInTenRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := llm.SessionRetries()
		policy.Jitter = noJitter
		out := runRetry(t, t.Context(), policy, failure(overloaded))
		if out.calls != 11 || out.elapsed != 303*time.Second { // 1+2+4+8+16+32 and four times the cap
			t.Errorf("%d calls in %v", out.calls, out.elapsed)
		}
		for i, r := range out.retries {
			if r.Attempt != i+2 || r.Max != 11 || r.Delay <= 0 || !errors.Is(r.Err, overloaded) {
				t.Errorf("retry %d is announced as %+v", i+1, r)
			}
		}
	})
}

func TestSpent_ReturnsAFailedCallsTokens(t *testing.T) {
	used := llm.Usage{Input: 12, Output: 3}
	for name, tt := range map[string]struct {
		err      error
		want     int64
		complete bool
	}{
		"no error":           {nil, 0, true},
		"reported in part":   {&llm.Error{Kind: llm.ErrIncomplete, Usage: used}, 12, false},
		"reported whole":     {&llm.Error{Kind: llm.ErrServer, Usage: used, UsageComplete: true}, 12, true},
		"wrapped":            {errors.Join(errors.New("x"), &llm.Error{Kind: llm.ErrServer, Usage: used}), 12, false},
		"never sent":         {llm.Errorf(llm.ErrConfiguration, "", "no provider"), 0, true},
		"an error of others": {errors.New("x"), 0, false},
	} {
		if u, complete := llm.Spent(tt.err); u.Input != tt.want || complete != tt.complete {
			t.Errorf("%s: %+v, %v", name, u, complete)
		}
	}
}

// The attempt that failed was reported with its retry; the cancelled wait used nothing.
func TestRetry_ACancelledWaitReportsNoUsageASecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		broken := &llm.Error{Kind: llm.ErrIncomplete, Usage: llm.Usage{Input: 12}}
		out := runRetry(t, ctx, llm.RetryPolicy{}, failure(broken))
		if u, _ := llm.Spent(out.retries[0].Err); u.Input != 12 {
			t.Errorf("the retry reports %+v", u)
		}
		if u, complete := llm.Spent(out.err); u.Input != 0 || !complete {
			t.Errorf("the cancelled wait reports %+v, complete: %v", u, complete)
		}
	})
}

func TestRetry_UsageOfAttemptsThatFailedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFake("p", failure(&llm.Error{Kind: llm.ErrIncomplete, Usage: llm.Usage{Input: 100}}), answer("ok"))
		c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{llm.SessionRetries().Middleware()}})
		out, err := c.Complete(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("go")}})
		if err != nil || out.Usage.Input != 10 || out.Retried.Input != 100 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestRetry_WaitsForAModelThatIsStillLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loading := failure(&llm.Error{Kind: llm.ErrLoading, Status: 503, Message: "Loading model"})
		turns := slices.Repeat([][]step{loading}, 40)
		turns = append(turns, failure(overloaded), answer("ready"))
		out := runRetry(t, t.Context(), llm.RetryPolicy{Retries: 1, Jitter: noJitter}, turns...)
		if out.err != nil || out.resp == nil {
			t.Fatalf("after %v and %d calls: %v", out.elapsed, out.calls, out.err)
		}
		if want := []time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}; !slices.Equal(out.waits[:5], want) {
			t.Errorf("the first waits are %v, want %v", out.waits[:5], want)
		}
		if first, last := out.retries[0], out.retries[40]; first.Attempt != 2 || first.Max != 0 || last.Attempt != 42 || last.Max != 42 {
			t.Errorf("the first and the last retry: %+v and %+v", first, last)
		}
		for _, policy := range []llm.RetryPolicy{{}, llm.SessionRetries()} {
			out = runRetry(t, t.Context(), policy, loading)
			if llm.KindOf(out.err) != llm.ErrLoading || out.elapsed < 14*time.Minute || out.elapsed > 15*time.Minute {
				t.Errorf("a server that loads for ever: %v after %v, want an error within 15 minutes", out.err, out.elapsed)
			}
		}
		for _, policy := range []llm.RetryPolicy{{Retries: -1}, {Loading: -1}} {
			if out = runRetry(t, t.Context(), policy, loading); out.calls != 1 {
				t.Errorf("%+v: %d calls, want 1", policy, out.calls)
			}
		}
	})
}

func TestRetry_GivesUpSoonIfAnotherModelIsConfigured(t *testing.T) {
	late := &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 11 * time.Second}
	for _, tt := range []struct {
		name  string
		err   *llm.Error
		calls int
		most  int // as announced
	}{
		{"overloaded", overloaded, 3, 3},
		{"a long delay", late, 1, 0},
		{"a timeout", &llm.Error{Kind: llm.ErrTimeout}, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newFake("p", failure(tt.err))
			policy := llm.SessionRetries()
			policy.Jitter = noJitter
			c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{policy.Middleware()}})
			start, most := time.Now(), 0
			var last error
			for ev, err := range c.Stream(t.Context(), &llm.Request{Attempts: 3}) {
				last = err
				if r, ok := ev.(llm.Retry); ok {
					most = r.Max
				}
			}
			if p.calls() != tt.calls || most != tt.most || !errors.Is(last, tt.err) || time.Since(start) > 3*time.Second {
				t.Errorf("%s: got %d calls of at most %d, the error %v after %v; want %d calls of %d within 3 s", tt.name, p.calls(), most, last, time.Since(start), tt.calls, tt.most)
			}
		})
	}
}
