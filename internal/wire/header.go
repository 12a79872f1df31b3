package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm"
)

func requestID(h http.Header) string {
	for _, k := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Amzn-Requestid", "X-Goog-Request-Id", "Cf-Ray"} {
		if v := h.Get(k); v != "" {
			return v
		}
	}
	return ""
}

// retryAfter returns how long the provider asks to wait, or 0. Providers use several headers and forms.
func retryAfter(h http.Header) time.Duration {
	for _, k := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if ms, err := strconv.ParseFloat(h.Get(k), 64); err == nil && ms > 0 {
			return time.Duration(min(ms, 1e12) * float64(time.Millisecond))
		}
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e9) * float64(time.Second))
	}
	if d, err := time.ParseDuration(v); err == nil && d > 0 {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), time.Millisecond)
	}
	return 0
}

// rateLimit reads the vendors' rate limit headers.
func rateLimit(h http.Header) llm.RateLimit {
	number := func(keys ...string) int64 {
		for _, k := range keys {
			if n, err := strconv.ParseInt(h.Get(k), 10, 64); err == nil {
				return n
			}
		}
		return -1
	}
	return llm.RateLimit{
		RequestsLimit:     number("X-Ratelimit-Limit-Requests", "Anthropic-Ratelimit-Requests-Limit", "X-Ratelimit-Limit"),
		RequestsRemaining: number("X-Ratelimit-Remaining-Requests", "Anthropic-Ratelimit-Requests-Remaining", "X-Ratelimit-Remaining"),
		TokensLimit:       number("X-Ratelimit-Limit-Tokens", "Anthropic-Ratelimit-Tokens-Limit"),
		TokensRemaining:   number("X-Ratelimit-Remaining-Tokens", "Anthropic-Ratelimit-Tokens-Remaining"),
		RequestsReset:     reset(h, "X-Ratelimit-Reset-Requests", "Anthropic-Ratelimit-Requests-Reset"),
		TokensReset:       reset(h, "X-Ratelimit-Reset-Tokens", "Anthropic-Ratelimit-Tokens-Reset"),
	}
}

// reset returns the time in the first of these headers that has a time or a duration.
func reset(h http.Header, keys ...string) time.Time {
	for _, k := range keys {
		v := h.Get(k)
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t
		}
		if d, err := time.ParseDuration(v); err == nil {
			return time.Now().Add(d)
		}
	}
	return time.Time{}
}
