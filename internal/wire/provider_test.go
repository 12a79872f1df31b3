package wire_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

const secret = "very-secret-key/+1234"

// serve returns a provider and starts its server. It checks for leaked goroutines.
func serve(t *testing.T, e llm.Endpoint, h http.HandlerFunc) *wire.Provider {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	srv := httptest.NewServer(h)
	e.Name, e.APIKey = "toy", secret
	if e.BaseURL == "" {
		e.BaseURL = srv.URL + "/v1/"
	}
	if e.HTTPClient == nil {
		e.HTTPClient = srv.Client()
	}
	t.Cleanup(func() {
		e.HTTPClient.CloseIdleConnections()
		srv.Close()
		goleak.VerifyNone(t, ignore)
	})
	return wire.NewProvider(toy{}, e)
}

func say(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Request-Id", "req-1")
		io.WriteString(w, body)
	}
}

func TestProvider_SendsTheRequest(t *testing.T) {
	p := serve(t, llm.Endpoint{Header: http.Header{"x-extra": {"1"}, "X-Toy": {"replaced"}}, Query: "api-version=7"}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != `{"model":"m"}` || r.ContentLength != int64(len(body)) {
			t.Errorf("the body is %q of %d, %v", body, r.ContentLength, err)
		}
		if r.Method != "POST" || r.URL.String() != "/v1/talk?api-version=7" {
			t.Errorf("it goes to %s %s", r.Method, r.URL)
		}
		for k, want := range map[string]string{"X-Toy-Key": secret, "X-Extra": "1", "X-Toy": "replaced", "Content-Type": "application/json", "Accept": "text/event-stream"} {
			if got := r.Header.Get(k); got != want {
				t.Errorf("%s is %q, want %q", k, got, want)
			}
		}
		say("data: hi\n\ndata: [DONE]\n\n")(w, r)
	})
	resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m"}))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Text() != "hi" || resp.RequestID != "req-1" || resp.Provider != "toy" {
		t.Errorf("%+v", resp)
	}
}

func TestProvider_SignerGetsTheWholeBodyAndNoKeyIsSent(t *testing.T) {
	sign := func(r *http.Request, body []byte) error {
		r.Header.Set("X-Signature", fmt.Sprint(len(body)))
		return nil
	}
	rewrite := func(_ *llm.Request, c *llm.Call) error {
		c.Path, c.Body = "/other", llm.Body{[]byte("rewritten")}
		return nil
	}
	p := serve(t, llm.Endpoint{Sign: sign, Rewrite: rewrite}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Signature") != "9" || r.Header.Get("X-Toy-Key") != "" || r.URL.Path != "/v1/other" {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
		say("data: [DONE]\n\n")(w, r)
	})
	if _, err := llm.Collect(p.Stream(t.Context(), &llm.Request{})); err != nil {
		t.Error(err)
	}
}

func TestProvider_HowAnswersEnd(t *testing.T) {
	tests := []struct {
		name  string
		write http.HandlerFunc
		unary bool
		kind  llm.ErrorKind // "" means success
		text  string
	}{
		{"stream", say("data: a\n\ndata: b\n\ndata: [DONE]\n\n"), false, "", "ab"},
		{"nothing is read behind the end", say("data: a\n\ndata: [DONE]\n\ndata: ?\n\n"), false, "", "a"},
		{"stream that just stops", say("data: a\n\n"), false, llm.ErrIncomplete, "a"},
		{"empty stream", say(""), false, llm.ErrIncomplete, ""},
		{"error of the provider's", say("data: a\n\ndata: !overloaded\n\n"), false, llm.ErrServer, "a"},
		{"malformed event", say("data: a\n\ndata: ?\n\n"), false, llm.ErrMalformed, "a"},
		{"cut in an event", say("data: a\n\ndata: ?"), false, llm.ErrIncomplete, "a"},
		{"whole answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `"hello"`)
		}, true, "", "hello"},
		{"malformed whole answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `"hel`)
		}, true, llm.ErrMalformed, ""},
		{"empty whole answer", func(w http.ResponseWriter, _ *http.Request) {}, true, llm.ErrIncomplete, ""},
		{"a stream where none was asked for", say("data: a\n\ndata: [DONE]\n\n"), true, "", "a"},
		{"status", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }, false, llm.ErrServer, ""},
		{"reset in the middle", func(w http.ResponseWriter, _ *http.Request) {
			say("data: a\n\n")(w, nil)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, false, llm.ErrIncomplete, "a"},
		{"event over the limit", say("data: " + strings.Repeat("x", 2000) + "\n\n"), false, llm.ErrMalformed, ""},
		{"whole answer over the limit", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `"`+strings.Repeat("x", 2000)+`"`)
		}, true, llm.ErrMalformed, ""},
		{"sum over the limit", say(strings.Repeat("data: "+strings.Repeat("x", 500)+"\n\n", 100)), false, llm.ErrMalformed, strings.Repeat("x", 2500)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, llm.Endpoint{Limits: llm.Limits{MaxEvent: 1000, MaxTotal: 4000}}, tt.write)
			text, _, err := talk(t.Context(), p, &llm.Request{Unary: tt.unary})
			if text != tt.text {
				t.Errorf("the text is %q, want %q", text, tt.text)
			}
			if (err == nil) != (tt.kind == "") || err != nil && llm.KindOf(err) != tt.kind {
				t.Errorf("got error %v, want kind %q", err, tt.kind)
			}
			var e *llm.Error
			if errors.As(err, &e) && e.Provider != "toy" {
				t.Errorf("the error is of provider %q", e.Provider)
			}
		})
	}
}

func TestProvider_RequestsThatCannotBeMade(t *testing.T) {
	for name, tt := range map[string]struct {
		e     llm.Endpoint
		model string
		kind  llm.ErrorKind
	}{
		"no form":          {llm.Endpoint{}, "impossible", llm.ErrInvalidRequest},
		"no scheme":        {llm.Endpoint{BaseURL: "localhost/v1"}, "m", llm.ErrConfiguration},
		"port, no scheme":  {llm.Endpoint{BaseURL: "localhost:11434"}, "m", llm.ErrConfiguration},
		"no host":          {llm.Endpoint{BaseURL: "http://"}, "m", llm.ErrConfiguration},
		"other scheme":     {llm.Endpoint{BaseURL: "ftp://example.com"}, "m", llm.ErrConfiguration},
		"control bytes":    {llm.Endpoint{BaseURL: "http://a\nb"}, "m", llm.ErrConfiguration},
		"signer fails":     {llm.Endpoint{Sign: func(*http.Request, []byte) error { return errors.New("no identity") }}, "m", llm.ErrConfiguration},
		"rewrite fails":    {llm.Endpoint{Rewrite: func(*llm.Request, *llm.Call) error { return errors.New("no such place") }}, "m", llm.ErrInvalidRequest},
		"nobody listening": {llm.Endpoint{BaseURL: "http://127.0.0.1:1"}, "m", llm.ErrNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, tt.e, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			_, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: tt.model}))
			if llm.KindOf(err) != tt.kind {
				t.Errorf("got error %v, want kind %s", err, tt.kind)
			}
		})
	}
}

func TestProvider_KeysNeverShowInErrors(t *testing.T) {
	echo := func(status int, format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if status != 200 {
				w.WriteHeader(status)
			} else {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			fmt.Fprintf(w, format, r.Header.Get("X-Toy-Key"))
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"message":         echo(401, `{"error":{"message":"Incorrect API key provided: %s.","code":"%[1]s"}}`),
		"body":            echo(500, `<html>%s</html>`),
		"stream error":    echo(200, "data: !bad key %s\n\n"),
		"malformed":       echo(200, "data: %s\n\ndata: ?\n\n"),
		"redirect":        echo(307, "to %s"),
		"url in the body": echo(400, `{"error":"https://x/?key=very-secret-key%%2F%%2B1234 %s"}`),
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, llm.Endpoint{}, h)
			_, err := llm.Collect(p.Stream(t.Context(), &llm.Request{}))
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("the error is %v", err)
			}
			for _, shown := range []string{err.Error(), string(e.Body), e.Code, fmt.Sprintf("%+v", *e), fmt.Sprint(e.Err)} {
				if strings.Contains(shown, secret) || strings.Contains(shown, "very-secret-key") {
					t.Errorf("the key is visible in %q", shown)
				}
			}
		})
	}
}

// net/http would forward the key headers of some vendors to another host.
func TestProvider_KeysDoNotFollowRedirectsToOtherHosts(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got %v", r.Header)
	}))
	defer thief.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved/talk":
			http.Redirect(w, r, "/talk", http.StatusTemporaryRedirect)
		case "/talk":
			say("data: hi\n\ndata: [DONE]\n\n")(w, r)
		default:
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer srv.Close()
	p := wire.NewProvider(toy{}, llm.Endpoint{Name: "toy", BaseURL: srv.URL + "/away", APIKey: secret})
	if _, err := llm.Collect(p.Stream(t.Context(), &llm.Request{})); err == nil {
		t.Error("the redirect was followed")
	}
	p = wire.NewProvider(toy{}, llm.Endpoint{Name: "toy", BaseURL: srv.URL + "/moved", APIKey: secret})
	if resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{})); err != nil || resp.Text() != "hi" {
		t.Errorf("a redirect on the same host gives %v", err)
	}
}

func TestProvider_RateLimitHeaders(t *testing.T) {
	p := serve(t, llm.Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Ratelimit-Limit-Requests", "100")
		h.Set("X-Ratelimit-Remaining-Requests", "99")
		h.Set("Anthropic-Ratelimit-Tokens-Remaining", "5000")
		h.Set("X-Ratelimit-Reset-Requests", "1m30s")
		h.Set("Anthropic-Ratelimit-Tokens-Reset", "2026-11-15T00:00:00Z")
		say("data: [DONE]\n\n")(w, r)
	})
	resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{}))
	if err != nil {
		t.Fatal(err)
	}
	l := resp.RateLimit
	if l.RequestsLimit != 100 || l.RequestsRemaining != 99 || l.TokensLimit != -1 || l.TokensRemaining != 5000 {
		t.Errorf("%+v", l)
	}
	if l.RequestsReset.IsZero() || l.TokensReset.Year() != 2026 {
		t.Errorf("resets are %v and %v", l.RequestsReset, l.TokensReset)
	}
}

func TestProvider_StreamsLeaveTheirConnectionForTheNextCall(t *testing.T) {
	conns := map[string]bool{}
	p := serve(t, llm.Endpoint{}, func(w http.ResponseWriter, r *http.Request) {
		conns[r.RemoteAddr] = true
		say("data: hello\n\ndata: [DONE]\n\n")(w, r)
	})
	for range 5 {
		if _, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m"})); err != nil {
			t.Fatal(err)
		}
	}
	if len(conns) != 1 {
		t.Errorf("five calls used %d connections, want 1", len(conns))
	}
}
