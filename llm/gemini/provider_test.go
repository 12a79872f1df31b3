package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// roundTrip answers HTTP requests in memory.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sent makes a call and returns the HTTP request that was sent for it.
func sent(t *testing.T, c Config, r *llm.Request) *http.Request {
	t.Helper()
	var got *http.Request
	c.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		body := io.NopCloser(strings.NewReader(`{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`))
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
	})}
	resp, err := llm.Collect(New(c).Stream(t.Context(), r))
	if err != nil || resp.Text() != "ok" {
		t.Fatalf("%+v %v", resp, err)
	}
	return got
}

func TestProvider_SendsTheKeyOnlyInAHeader(t *testing.T) {
	req := sent(t, Config{Endpoint: llm.Endpoint{APIKey: "AIza-secret"}}, &llm.Request{Model: "gemini-3-pro", Messages: []llm.Message{llm.UserText("hi")}})
	if got := req.URL.String(); got != "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse" {
		t.Error(got)
	}
	if req.Header.Get("X-Goog-Api-Key") != "AIza-secret" || req.Header.Get("Authorization") != "" {
		t.Error(req.Header)
	}
	if name := New(Config{}).Name(); name != "gemini" {
		t.Error(name)
	}
}

func TestVertex_URLAndToken(t *testing.T) {
	token := func(context.Context) (string, error) { return "tok", nil }
	for _, c := range []struct {
		project, location, model, url string
	}{
		{"p", "global", "gemini-3-pro", "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-pro:generateContent"},
		{"p", "europe-west4", "gemini-3-pro", "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4/publishers/google/models/gemini-3-pro:generateContent"},
		{"p", "eu", "publishers/google/models/m", "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google/models/m:generateContent"},
		{"p", "us", "projects/q/locations/us/endpoints/7", "https://aiplatform.us.rep.googleapis.com/v1beta1/projects/q/locations/us/endpoints/7:generateContent"},
		{"", "", "gemini-3-pro", "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/gemini-3-pro:generateContent"},
	} {
		e := Vertex(c.project, c.location, Bearer(token))
		e.APIKey = "must not be sent"
		req := sent(t, Config{Endpoint: e}, &llm.Request{Model: c.model, Unary: true, Messages: []llm.Message{llm.UserText("hi")}})
		if req.URL.String() != c.url {
			t.Errorf("got  %s\nwant %s", req.URL, c.url)
		}
		if req.Header.Get("Authorization") != "Bearer tok" || req.Header.Get("X-Goog-Api-Key") != "" {
			t.Error(req.Header)
		}
	}
}

func TestVertex_ATokenThatCannotBeHadIsAConfigurationError(t *testing.T) {
	boom := errors.New("no token")
	p := New(Config{Endpoint: Vertex("p", "global", Bearer(func(context.Context) (string, error) { return "", boom }))})
	_, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m"}))
	if llm.KindOf(err) != llm.ErrConfiguration || !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}
