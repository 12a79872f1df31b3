package connect_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/llm/llmtest"
)

// protocols lists the four providers of FromEnv with a model for each.
var protocols = map[string]string{"openai": "gpt-5", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro", "chat": "some-model"}

// counter is a transport that counts the bytes of answers.
type counter struct {
	http.RoundTripper
	n atomic.Int64
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &counted{resp.Body, &c.n}
	}
	return resp, err
}

type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// dial connects all four providers to a strict server that plays the turns. The waits between retries are
// negligible.
func dial(t *testing.T, reply func(n int, r *llm.Request) llmtest.Turn) (*llm.Client, *counter, *llmtest.Server) {
	t.Helper()
	srv := llmtest.NewServer(&llmtest.Script{Reply: reply})
	t.Cleanup(srv.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	count := &counter{RoundTripper: transport}
	e := env{
		"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": srv.BaseURL("openai-responses"),
		"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": srv.BaseURL("anthropic"),
		"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": srv.BaseURL("gemini"),
		"REINS_CHAT_API_KEY": "k", "REINS_CHAT_BASE_URL": srv.BaseURL("openai-chat"),
	}
	retry := llm.SessionRetries()
	retry.Base = time.Nanosecond
	c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: &http.Client{Transport: count}, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	return c, count, srv
}

// seen is the result for a consumer that obeys Discard.
type seen struct {
	text, arguments string
	content         int // events since the last attempt began
	retries         []llm.Retry
	lost            []int // content that each retry discarded
	resp            *llm.Response
	err             error
}

func consume(t *testing.T, c *llm.Client, provider string) (s seen) {
	t.Helper()
	r := request(provider, protocols[provider])
	r.MaxTokens = 2000
	r.Tools = []llm.ToolDef{{Name: "write_file", Parameters: []byte(`{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`)}}
	for ev, err := range c.Stream(t.Context(), r) {
		s.err = err
		switch ev := ev.(type) {
		case llm.TextDelta:
			s.text += ev.Text
			s.content++
		case llm.ToolCallDelta:
			s.arguments += ev.Arguments
			s.content++
		case llm.TextStart, llm.ToolCallStart, llm.TextEnd, llm.ToolCallEnd:
			s.content++
		case llm.Retry:
			s.retries, s.lost = append(s.retries, ev), append(s.lost, s.content)
			if ev.Discard {
				s.text, s.arguments = "", ""
			}
			s.content = 0
		case llm.Finish:
			s.resp = ev.Response
		}
	}
	return s
}

var longAnswer = llmtest.Turn{Chunk: 24, Parts: []llm.Part{
	llm.Text{Text: strings.Repeat("All of this is one answer. ", 20)},
	llm.ToolCall{ID: "call_0001", Name: "write_file", Arguments: `{"content":"` + strings.Repeat("one line of a file\\n", 20) + `"}`},
}}

func TestRetry_AnAnswerCutAnywhereArrivesWholeAndTheDiscardIsAnnouncedOnce(t *testing.T) {
	const cuts = 16
	for provider := range protocols {
		t.Run(provider, func(t *testing.T) {
			var cut, calls atomic.Int64
			c, count, srv := dial(t, func(int, *llm.Request) llmtest.Turn {
				turn := longAnswer
				if calls.Add(1) == 1 {
					turn.Fault.CutAt = int(cut.Load())
				}
				return turn
			})
			whole := consume(t, c, provider)
			if whole.err != nil || len(whole.retries) > 0 {
				t.Fatalf("the answer without a cut: %+v (violations: %v)", whole, srv.Violations())
			}
			total := int(count.n.Load())
			discards := 0
			for i := 1; i < cuts; i++ {
				at := total * i / cuts
				cut.Store(int64(at))
				calls.Store(0)
				got := consume(t, c, provider)
				if got.err != nil || got.text != whole.text || got.arguments != whole.arguments || len(got.resp.ToolCalls()) != 1 {
					t.Fatalf("cut at %d of %d bytes: %v, %d bytes of text, %d of arguments", at, total, got.err, len(got.text), len(got.arguments))
				}
				if len(got.retries) != 1 || calls.Load() != 2 {
					t.Fatalf("cut at %d of %d bytes: %d retries, %d calls", at, total, len(got.retries), calls.Load())
				}
				if r := got.retries[0]; r.Discard != (got.lost[0] > 0) || r.Attempt != 2 || r.Max != 11 || llm.KindOf(r.Err) != llm.ErrIncomplete {
					t.Errorf("cut at %d of %d bytes, after %d events: the retry is %+v", at, total, got.lost[0], r)
				} else if r.Discard {
					discards++
				}
			}
			if discards < cuts/2 {
				t.Errorf("only %d of %d cuts came after content", discards, cuts-1)
			}
		})
	}
}

func TestRetry_TenFailuresInARowAreSurvivedAndElevenAreNot(t *testing.T) {
	for provider := range protocols {
		t.Run(provider, func(t *testing.T) {
			var fail, calls atomic.Int64
			fail.Store(10)
			c, _, _ := dial(t, func(int, *llm.Request) llmtest.Turn {
				if calls.Add(1) <= fail.Load() {
					return llmtest.Fail(529)
				}
				return llmtest.Say("at last")
			})
			for range 2 { // the retries are per call
				calls.Store(0)
				got := consume(t, c, provider)
				if got.err != nil || got.text != "at last" || len(got.retries) != 10 {
					t.Fatalf("after ten failures: %v, %q, %d retries", got.err, got.text, len(got.retries))
				}
				last := got.retries[9]
				if last.Attempt != 11 || last.Max != 11 || last.Discard || llm.KindOf(last.Err) != llm.ErrServer {
					t.Errorf("the last retry is %+v", last)
				}
			}
			fail.Store(11)
			calls.Store(0)
			if got := consume(t, c, provider); llm.KindOf(got.err) != llm.ErrServer || calls.Load() != 11 {
				t.Errorf("after eleven failures: %v, %d calls", got.err, calls.Load())
			}
		})
	}
}

func TestRetry_ARefusedRequestIsMadeOnce(t *testing.T) {
	for provider := range protocols {
		for _, status := range []int{400, 401, 403, 404, 413, 422} {
			var calls atomic.Int64
			c, _, _ := dial(t, func(int, *llm.Request) llmtest.Turn { calls.Add(1); return llmtest.Fail(status) })
			if got := consume(t, c, provider); got.err == nil || len(got.retries) != 0 || calls.Load() != 1 {
				t.Errorf("%s, status %d: %v, %d calls", provider, status, got.err, calls.Load())
			}
		}
	}
}

func TestRetry_FromEnvUsesSessionRetriesByDefault(t *testing.T) {
	half := llmtest.Say(strings.Repeat("half of an answer ", 50))
	half.Fault.CutAt = 1500
	for name, tt := range map[string]struct {
		policy   llm.RetryPolicy
		restarts bool
	}{
		"default":             {llm.RetryPolicy{}, true},
		"no retries":          {llm.RetryPolicy{Retries: -1}, false},
		"without a new start": {llm.RetryPolicy{Retries: 5}, false},
	} {
		srv := llmtest.NewServer(llmtest.Play(half))
		transport := &http.Transport{}
		e := env{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": srv.BaseURL("anthropic")}
		c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: &http.Client{Transport: transport}, Retry: tt.policy})
		if err != nil {
			t.Fatal(err)
		}
		restarts := false
		for ev := range c.Stream(t.Context(), request("", "claude-sonnet-4-5")) {
			if r, ok := ev.(llm.Retry); ok {
				restarts = r.Discard && r.Max == 11 && r.Delay >= 500*time.Millisecond
				break // before the wait
			}
		}
		if restarts != tt.restarts {
			t.Errorf("%s: an answer that was cut off is started again: %v", name, restarts)
		}
		transport.CloseIdleConnections()
		srv.Close()
	}
}

func TestRetry_ReportsUsageOfFailedAttempts(t *testing.T) {
	for provider := range protocols {
		var cut, calls atomic.Int64
		c, count, _ := dial(t, func(int, *llm.Request) llmtest.Turn {
			turn := longAnswer
			turn.Usage = llm.Usage{Input: 1000, Output: 50, CacheRead: 600}
			if calls.Add(1) == 1 {
				turn.Fault.CutAt = int(cut.Load())
			}
			return turn
		})
		consume(t, c, provider)
		cut.Store(count.n.Load() / 2)
		calls.Store(0)
		got := consume(t, c, provider)
		if len(got.retries) != 1 || got.err != nil {
			t.Fatalf("%s: %+v", provider, got)
		}
		u, complete := llm.Spent(got.retries[0].Err)
		if complete {
			t.Errorf("%s: the usage of an answer that was cut off is called complete", provider)
		}
		counts := map[string]int64{"anthropic": 1000, "gemini": 1000}[provider] // the others count at the end only
		if u.Input != counts {
			t.Errorf("%s: the failed attempt reports %+v", provider, u)
		}
		calls.Store(0)
		r := request(provider, protocols[provider])
		r.MaxTokens = 2000
		resp, err := c.Complete(t.Context(), r)
		if err != nil || resp.Retried.Input != u.Input || resp.Usage.Input != 1000 {
			t.Errorf("%s: the whole answer reports %+v beside %+v of failed attempts: %v", provider, resp.Usage, resp.Retried, err)
		}
	}
}

func TestRetry_ARefusedRequestUsedNothing(t *testing.T) {
	c, _, srv := dial(t, func(int, *llm.Request) llmtest.Turn { return llmtest.Fail(400) })
	for provider := range protocols {
		if u, complete := llm.Spent(consume(t, c, provider).err); !complete || u.Input != 0 {
			t.Errorf("%s: a refused request used %+v, complete: %v", provider, u, complete)
		}
	}
	srv.Close()
	for provider := range protocols {
		got := consume(t, c, provider)
		if _, complete := llm.Spent(got.err); !complete {
			t.Errorf("%s: a request that never left may have used something: %v", provider, got.err)
		}
	}
}
