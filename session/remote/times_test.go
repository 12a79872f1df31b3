//go:build unix

package remote_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

// recorded is a session with some records.
type recorded struct {
	session.Handle
	records []event.Record
}

func (r recorded) Events(context.Context, event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for _, one := range r.records {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// Clocks are coarse: a record can be as old as the transient one before it, which a client has heard.
func TestServer_OnlyTransientRecordsThatWereHeardAreLeftOut(t *testing.T) {
	heard := time.Now().UTC()
	server := remote.NewServer(recorded{records: []event.Record{
		{Time: heard, Data: event.TextDelta{Text: "heard"}},
		{Time: heard.Add(1), Data: event.TextDelta{Text: "unheard"}},
		{Seq: 1, Time: heard, Data: event.Warning{Message: "durable"}},
		{Time: heard, Data: event.TextDelta{Text: "of the next call"}},
	}})
	defer server.Close()
	web := httptest.NewServer(server)
	defer web.Close()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/events", nil)
	must(t, err)
	q.Header.Set("Reins-Heard", heard.Format(time.RFC3339Nano))
	resp, err := http.DefaultClient.Do(q)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	for text, want := range map[string]bool{`"heard"`: false, `"unheard"`: true, `"durable"`: true, `"of the next call"`: true, "event: end": true} {
		if strings.Contains(string(b), text) != want {
			t.Errorf("%s was sent: %v, want %v; all that was sent:\n%s", text, !want, want, b)
		}
	}
}
