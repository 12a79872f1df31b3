package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/webhook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// watched is an output that can be read while a command runs.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	select {
	case w.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// find waits until the output matches, and returns the first group.
func (w *watched) find(ctx context.Context, t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for {
		w.mu.Lock()
		m := re.FindStringSubmatch(w.text.String())
		w.mu.Unlock()
		if m != nil {
			return m[len(m)-1]
		}
		select {
		case <-w.more:
		case <-ctx.Done():
			t.Fatalf("no %q in:\n%s", pattern, w.text.String())
		}
	}
}

func TestRun_ListensForSignedWebhooks(t *testing.T) {
	m := newMachine(t)
	const key = "a secret of more than 16 bytes"
	m.reins(exitUsage, "run", "--listen", "127.0.0.1:0", "hello")
	m.env["REINS_WEBHOOK_SECRET"] = "short"
	m.reins(exitUsage, "run", "--listen", "127.0.0.1:0", "hello")
	m.env["REINS_WEBHOOK_SECRET"] = key
	m.reins(exitUsage, "run", "--listen", ":0", "hello")
	received := make(chan string, 10)
	server := llmtest.NewServer(&llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		received <- r.Messages[len(r.Messages)-1].Text()
		return llmtest.Say("ok")
	}})
	defer server.Close()
	m.env["ANTHROPIC_API_KEY"], m.env["ANTHROPIC_BASE_URL"] = "k", server.BaseURL("anthropic")
	secret, err := webhook.ParseSecret(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range [][]string{{"--session-id", "one", "hello"}, {"--resume", "one", "again"}} {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		out := &watched{more: make(chan struct{}, 1)}
		h := m.host
		h.Stdin, h.Stdout, h.Stderr = strings.NewReader(""), out, out
		root := newRoot(h)
		root.SetArgs(append([]string{"run", "--listen", "127.0.0.1:0"}, start...))
		done := make(chan error)
		go func() { done <- root.ExecuteContext(ctx) }()
		url := out.find(ctx, t, `http://[0-9.:]+`)
		if got := <-received; got != start[2] {
			t.Errorf("the model got %q first, want the prompt", got)
		}
		post := func(id string) int {
			q, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"build":"failed"}`))
			secret.Sign(q.Header, id, time.Now(), []byte(`{"build":"failed"}`))
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			return resp.StatusCode
		}
		id := "msg_" + start[2]
		if status := post(id); status != 202 {
			t.Errorf("status %d, want 202", status)
		}
		if got := <-received; !strings.HasPrefix(got, "[Webhook "+id+". This message is from a program, not from the user.") || !strings.HasSuffix(got, `{"build":"failed"}`) {
			t.Errorf("the model got %q", got)
		}
		for _, old := range []string{"msg_hello", id} {
			if status := post(old); status != 409 {
				t.Errorf("%s again: status %d, want 409", old, status)
			}
		}
		out.find(ctx, t, `(?s)\bok\b.*\bok\b`) // an answer that is interrupted would be asked for again
		stop()
		<-done
	}
}
