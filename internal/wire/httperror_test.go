package wire_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

func TestHTTPError_StatusAndBodyGiveTheKind(t *testing.T) {
	tests := []struct {
		name      string
		status    int
		body      string
		kind      llm.ErrorKind
		retryable bool
		message   string // "" means any
	}{
		// The status alone.
		{"401", 401, ``, llm.ErrAuthentication, false, ""},
		{"403", 403, ``, llm.ErrAccessDenied, false, ""},
		{"404", 404, ``, llm.ErrNotFound, false, ""},
		{"400", 400, ``, llm.ErrInvalidRequest, false, ""},
		{"422", 422, ``, llm.ErrInvalidRequest, false, ""},
		{"413", 413, ``, llm.ErrContextLength, false, ""},
		{"402", 402, ``, llm.ErrQuota, false, ""},
		{"408", 408, ``, llm.ErrTimeout, true, ""},
		{"409", 409, ``, llm.ErrInvalidRequest, true, ""},
		{"429", 429, ``, llm.ErrRateLimit, true, ""},
		{"500", 500, ``, llm.ErrServer, true, ""},
		{"502 in HTML", 502, `<html><body>Bad Gateway</body></html>`, llm.ErrServer, true, "<html><body>Bad Gateway</body></html>"},
		{"503", 503, ``, llm.ErrServer, true, ""},
		{"still loading", 503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, llm.ErrLoading, true, "Loading model"},
		{"a gateway that loads", 503, `{"error":"Model x is currently loading","estimated_time":20.0}`, llm.ErrLoading, true, ""},
		{"images that a server cannot read", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, llm.ErrInvalidRequest, false, ""},
		{"504", 504, ``, llm.ErrTimeout, true, ""},
		{"529", 529, ``, llm.ErrServer, true, ""},
		{"unknown 4xx", 418, `teapot`, llm.ErrInvalidRequest, false, "teapot"},
		{"redirect", 307, ``, llm.ErrUnknown, false, ""},

		// The shapes of bodies.
		{"OpenAI", 400, `{"error":{"message":"bad","type":"invalid_request_error","param":"x","code":null}}`, llm.ErrInvalidRequest, false, "bad"},
		{"Anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}`, llm.ErrServer, true, "Overloaded"},
		{"Google", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, llm.ErrAuthentication, false, ""},
		{"Google in a list", 404, `[{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}]`, llm.ErrNotFound, false, "no such model"},
		{"error is text", 500, `{"error":"it broke"}`, llm.ErrServer, true, "it broke"},
		{"message at the top", 400, `{"message":"bad","code":"x"}`, llm.ErrInvalidRequest, false, "bad"},
		{"detail", 400, `{"detail":"bad"}`, llm.ErrInvalidRequest, false, "bad"},
		{"list of errors", 400, `{"errors":[{"message":"bad"}]}`, llm.ErrInvalidRequest, false, "bad"},
		{"not JSON", 400, `no way`, llm.ErrInvalidRequest, false, "no way"},
		{"cut off JSON", 400, `{"error":{"mess`, llm.ErrInvalidRequest, false, `{"error":{"mess`},
		{"empty list", 400, `[]`, llm.ErrInvalidRequest, false, "[]"},
		{"null", 500, `null`, llm.ErrServer, true, ""},

		// Quota or rate limit.
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.ErrQuota, false, ""},
		{"OpenAI rate", 429, `{"error":{"message":"Rate limit reached for gpt-6-sol in organization o on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ErrRateLimit, true, ""},
		{"Anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.ErrQuota, false, ""},
		{"quota as 403", 403, `{"error":{"message":"no more","code":"insufficient_quota"}}`, llm.ErrQuota, false, ""},
		{"Google per minute", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"x/QuotaFailure","violations":[{"quotaId":"RequestsPerMinute"}]},{"@type":"x/RetryInfo","retryDelay":"48s"}]}}`, llm.ErrRateLimit, true, ""},
		{"Google per day", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota.","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"retryDelay":"48s"}]}}`, llm.ErrQuota, false, ""},
		{"too many tokens a minute", 429, `{"error":{"message":"too many tokens per minute"}}`, llm.ErrRateLimit, true, ""},

		// Context length.
		{"OpenAI context", 400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.ErrContextLength, false, ""},
		{"Anthropic context", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ErrContextLength, false, ""},
		{"Google context", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.ErrContextLength, false, ""},
		{"vLLM context", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}`, llm.ErrContextLength, false, ""},

		// Others, by text.
		{"content filter", 400, `{"error":{"message":"The response was filtered due to Azure's content management policy.","code":"content_filter"}}`, llm.ErrContentFilter, false, ""},
		{"401 whatever it says", 401, `{"error":{"message":"exceeded your current quota"}}`, llm.ErrAuthentication, false, ""},
		{"500 whatever it says", 500, `{"error":{"type":"invalid_request_error","message":"x"}}`, llm.ErrServer, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := wire.HTTPError(tt.status, http.Header{}, []byte(tt.body))
			if e.Kind != tt.kind || e.Retryable() != tt.retryable || e.Status != tt.status {
				t.Errorf("kind %s, retryable %v, status %d; want %s, %v", e.Kind, e.Retryable(), e.Status, tt.kind, tt.retryable)
			}
			if tt.message != "" && e.Message != tt.message {
				t.Errorf("the message is %q, want %q", e.Message, tt.message)
			}
			if string(e.Body) != tt.body {
				t.Errorf("the body is %q", e.Body)
			}
		})
	}
}

func TestBodyError_DuringAStream(t *testing.T) {
	for body, want := range map[string]llm.ErrorKind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: llm.ErrServer,
		`{"error":{"type":"rate_limit_error"}}`:                                       llm.ErrRateLimit,
		`{"error":{"code":503,"status":"UNAVAILABLE"}}`:                               llm.ErrServer,
		`{"error":{"code":"server_error","message":"x"}}`:                             llm.ErrServer,
		`{"error":{"code":"context_length_exceeded"}}`:                                llm.ErrContextLength,
		`{"error":{"type":"invalid_request_error","message":"x"}}`:                    llm.ErrInvalidRequest,
		`{"error":{"code":"429","message":"slow down"}}`:                              llm.ErrRateLimit,
		`{"error":{"message":"who knows"}}`:                                           llm.ErrUnknown,
		`{"error":{"type":"authentication_error"}}`:                                   llm.ErrAuthentication,
		`{"error":{"code":"insufficient_quota","message":"exceeded"}}`:                llm.ErrQuota,
		`{"error":{"status":"DEADLINE_EXCEEDED"}}`:                                    llm.ErrTimeout,
	} {
		v, err := wire.ParseJSON([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if e := wire.BodyError(0, v); e.Kind != want {
			t.Errorf("%s is %s, want %s", body, e.Kind, want)
		}
	}
}

func TestHTTPError_RetryAfterInEveryForm(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		name     string
		header   map[string]string
		body     string
		min, max time.Duration
	}{
		{"none", nil, ``, 0, 0},
		{"seconds", map[string]string{"Retry-After": "20"}, ``, 20 * time.Second, 20 * time.Second},
		{"parts of a second", map[string]string{"Retry-After": "0.5"}, ``, 500 * time.Millisecond, 500 * time.Millisecond},
		{"with a unit", map[string]string{"Retry-After": "1m30s"}, ``, 90 * time.Second, 90 * time.Second},
		{"milliseconds", map[string]string{"Retry-After-Ms": "1500"}, ``, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"Azure's milliseconds", map[string]string{"X-Ms-Retry-After-Ms": "250"}, ``, 250 * time.Millisecond, 250 * time.Millisecond},
		{"milliseconds are more exact", map[string]string{"Retry-After": "2", "Retry-After-Ms": "1500"}, ``, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"date", map[string]string{"Retry-After": in(time.Hour)}, ``, 59 * time.Minute, time.Hour},
		{"date that has passed", map[string]string{"Retry-After": in(-time.Hour)}, ``, time.Millisecond, time.Millisecond},
		{"Google's details", nil, `{"error":{"details":[{"@type":"x"},{"retryDelay":"48.5s"}]}}`, 48500 * time.Millisecond, 48500 * time.Millisecond},
		{"the header wins", map[string]string{"Retry-After": "5"}, `{"error":{"details":[{"retryDelay":"48s"}]}}`, 5 * time.Second, 5 * time.Second},
		{"nonsense", map[string]string{"Retry-After": "soon", "Retry-After-Ms": "NaN"}, ``, 0, 0},
		{"negative", map[string]string{"Retry-After": "-5"}, ``, 0, 0},
		{"huge", map[string]string{"Retry-After": "1e300"}, ``, 1e9 * time.Second, 1e9 * time.Second},
		{"huge milliseconds", map[string]string{"Retry-After-Ms": "1e300"}, ``, 1e9 * time.Second, 1e9 * time.Second},
	}
	for _, tt := range tests {
		h := http.Header{}
		for k, v := range tt.header {
			h.Set(k, v)
		}
		if d := wire.HTTPError(429, h, []byte(tt.body)).RetryAfter; d < tt.min || d > tt.max {
			t.Errorf("%s: %v, want %v to %v", tt.name, d, tt.min, tt.max)
		}
	}
}

func TestHTTPError_EveryVendorsRequestID(t *testing.T) {
	for _, k := range []string{"x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-goog-request-id", "cf-ray"} {
		h := http.Header{}
		h.Set(k, "id-1")
		if e := wire.HTTPError(500, h, nil); e.RequestID != "id-1" {
			t.Errorf("header %s was not read", k)
		}
	}
}

func TestHTTPError_ServerMaySayThatARetryHelps(t *testing.T) {
	h := http.Header{}
	h.Set("X-Should-Retry", "true")
	if !wire.HTTPError(400, h, nil).Retryable() {
		t.Error("X-Should-Retry was ignored")
	}
}

func TestHTTPError_LongBodiesMakeShortMessages(t *testing.T) {
	e := wire.HTTPError(502, http.Header{}, []byte(strings.Repeat("é", 5000)))
	if len(e.Message) > 400 || !strings.HasSuffix(e.Message, "é…") {
		t.Errorf("the message is %d bytes long: %q", len(e.Message), e.Message)
	}
	if len(e.Body) != 10000 {
		t.Errorf("%d bytes of the body are left", len(e.Body))
	}
}

func FuzzHTTPError(f *testing.F) {
	f.Add(429, `{"error":{"message":"x","details":[{"retryDelay":"1s"}]}}`, "5")
	f.Add(0, `[[{"errors":[{"errors":"x"}]}]]`, "Sun, 15 Nov 2026 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		e := wire.HTTPError(status, http.Header{"Retry-After": {after}}, []byte(body))
		if e.Kind == "" || e.RetryAfter < 0 {
			t.Fatalf("kind %q, retry after %v", e.Kind, e.RetryAfter)
		}
	})
}

func TestRedact_RemovesCredentials(t *testing.T) {
	long := strings.Repeat("a1B2", 10)
	for _, secret := range []string{
		"sk-proj-" + long, "sk-ant-api03-" + long + "_-x", "sk-or-v1-" + long, "AIza" + long, "gsk_" + long, "xai-" + long,
		"Bearer " + long, "bearer abc.def-ghi_jkl", "ya29." + long, "hf_" + long, "eyJ" + long + ".eyJ" + long + "." + long,
	} {
		for _, frame := range []string{"%", "key: % is bad", `{"k":"%"}`, "x=%&y"} {
			if got := wire.Redact(strings.ReplaceAll(frame, "%", secret)); strings.Contains(got, secret[8:]) {
				t.Errorf("%q is visible in %q", secret, got)
			}
		}
	}
}

func TestRedact_KeepsOrdinaryText(t *testing.T) {
	for _, text := range []string{"", "the task-list is long", "sk-short", "risk-assessment", "Bearer", "model claude-opus-5-5 not found",
		"desk-0123456789abcdefghijk is furniture"} {
		if got := wire.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestRedactURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example/v1":                         "https://api.example/v1",
		"https://api.example/v1?alt=sse&beta=true":       "https://api.example/v1?alt=sse&beta=true",
		"https://api.example/v1?key=x":                   "https://api.example/v1?key=[redacted]",
		"https://api.example/v1?alt=sse&k=x=y#z&":        "https://api.example/v1?alt=sse&k=[redacted]&[redacted]",
		"https://api.example/v1?x":                       "https://api.example/v1?[redacted]",
		"https://me:secret@api.example/v1":               "https://[redacted]@api.example/v1",
		"https://secret@api.example":                     "https://[redacted]@api.example",
		"https://me:se/cret@api.example/v1":              "https://[redacted]@api.example/v1",
		"https://api.example/sk-proj-0123456789abcdefgh": "https://api.example/[redacted]",
		"%zz://api.example/?key=x":                       "%zz://api.example/?key=[redacted]",
		"not a URL?key=x":                                "not a URL?key=x",
	} {
		if got := wire.RedactURL(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
