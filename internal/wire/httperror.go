package wire

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/llm"
)

// HTTPError returns the error for an answer with an error status.
func HTTPError(status int, h http.Header, body []byte) *llm.Error {
	v, _ := ParseJSON(body)
	e := BodyError(status, v)
	e.Body = body
	e.RequestID = requestID(h)
	if code, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":"); code != "" && e.Code == "" {
		e.Code = code
		e.Kind = classify(status, strings.ToLower(code), strings.ToLower(e.Message))
	}
	if e.Message == "" {
		e.Message = snippet(body)
	}
	if d := retryAfter(h); d > 0 {
		e.RetryAfter = d
	}
	if strings.EqualFold(h.Get("X-Should-Retry"), "true") {
		e.Temporary = true
	}
	return e
}

// BodyError returns the error that a body or an event describes, in one of the usual shapes: {"error":{…}},
// {"error":"…"}, [{"error":…}], {"message":…}, {"detail":…}. The status is 0 for an event.
func BodyError(status int, v Value) *llm.Error {
	obj := errorObject(v)
	e := &llm.Error{Status: status, Body: v.Clone()}
	e.Message = text(obj, "message", "Message", "detail", "error_description", "msg")
	e.Code = text(obj, "code", "type", "status")
	if obj.Kind() == '"' {
		e.Message = obj.Str()
	}
	if status == 0 {
		e.Status = int(statusIn(obj))
	}
	words := strings.Join([]string{text(obj, "type"), text(obj, "code"), text(obj, "status")}, " ")
	e.Kind = classify(e.Status, strings.ToLower(words), strings.ToLower(e.Message))
	e.Window = max(obj.Get("n_ctx").Int(), 0)
	e.RetryAfter = retryInfo(obj)
	if e.Kind == llm.ErrQuota && e.RetryAfter > 0 && !bytes.Contains(obj, []byte("PerDay")) {
		// Google also uses "quota" for limits per minute, with a time to retry after.
		e.Kind = llm.ErrRateLimit
	}
	e.Temporary = e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
	return e
}

// errorObject returns the object or string that describes the error.
func errorObject(v Value) Value {
	if v.Kind() == '[' {
		it := v.Elements()
		if !it.Next() {
			return nil
		}
		v = it.Value
	}
	for _, key := range []string{"error", "errors"} {
		switch inner := v.Get(key); inner.Kind() {
		case '{', '"':
			return inner
		case '[':
			return errorObject(inner)
		}
	}
	return v
}

// text returns the first member that is a number or a non-empty string.
func text(v Value, keys ...string) string {
	for _, k := range keys {
		switch m := v.Get(k); m.Kind() {
		case '"':
			if s := m.Str(); s != "" {
				return s
			}
		case '0':
			return string(m)
		}
	}
	return ""
}

// statusIn returns the HTTP status in the object, or 0.
func statusIn(v Value) int64 {
	for _, k := range []string{"code", "status", "status_code"} {
		if n := v.Get(k).Int(); n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}

// signs maps codes, types and messages of providers to kinds. The first match decides. Codes are
// searched for in codes and types only.
var signs = []struct {
	kind           llm.ErrorKind
	codes, phrases []string
}{
	{llm.ErrQuota,
		[]string{
			"insufficient_quota", "quota_exceeded", "billing", "insufficient_balance", "payment_required", "credit",
			"servicequotaexceeded",
		},
		[]string{
			"exceeded your current quota", "insufficient balance", "credit balance is too low",
			"billing hard limit", "out of credits", "insufficient credits", "requires more credits",
		}},
	{llm.ErrContextLength,
		[]string{"context_length", "context_window", "request_too_large", "string_above_max_length"},
		[]string{
			"context length", "context window", "prompt is too long", "maximum context", "input token count",
			"too many tokens", "exceeds the maximum number of tokens", "reduce the length",
			"input length and `max_tokens` exceed", "request too large", "input is too long",
			"exceeds the available context size",
		}},
	{llm.ErrContentFilter,
		[]string{"content_filter", "content_policy", "bio_policy", "misalignment_policy", "responsibleai", "moderation"},
		[]string{"content management policy", "content policy", "safety system"}},
	{llm.ErrRateLimit,
		[]string{"rate_limit", "too_many_requests", "resource_exhausted", "throttl"}, []string{"rate limit", "too many requests"}},
	{llm.ErrServer,
		[]string{"overloaded", "server_error", "api_error", "internal", "unavailable", "engine_overloaded", "service_"},
		[]string{"overloaded"}},
	{llm.ErrAuthentication,
		[]string{"authentication", "unauthenticated", "invalid_api_key", "unauthorized", "api_key_invalid",
			"expiredtoken", "unrecognizedclient", "invalidsignature", "incompletesignature", "missingauthenticationtoken"},
		[]string{"api key not valid", "invalid api key", "incorrect api key"}},
	{llm.ErrAccessDenied, []string{"permission", "forbidden", "access_denied", "data_residency"}, nil},
	{llm.ErrNotFound, []string{"not_found", "model_not_found"}, nil},
	{llm.ErrTimeout, []string{"timeout", "deadline_exceeded"}, nil},
	{llm.ErrInvalidRequest, []string{"invalid", "bad_request", "failed_precondition", "unprocessable"}, nil},
}

// classify returns the kind for a status, refined by the codes and the message. The status decides
// where it can: a 401 is an authentication error whatever its text says.
func classify(status int, codes, message string) llm.ErrorKind {
	sign := llm.ErrUnknown
	for _, s := range signs {
		if containsAny(codes, s.codes) || containsAny(message, s.phrases) {
			sign = s.kind
			break
		}
	}
	switch {
	case status == 0:
		return sign
	case status == http.StatusUnauthorized:
		return llm.ErrAuthentication
	case status == http.StatusPaymentRequired:
		return llm.ErrQuota
	case status == http.StatusForbidden:
		return oneOf(sign, llm.ErrAccessDenied, llm.ErrQuota, llm.ErrContentFilter, llm.ErrAuthentication)
	case status == http.StatusNotFound:
		return llm.ErrNotFound
	case status == http.StatusRequestTimeout:
		return llm.ErrTimeout
	case status == http.StatusRequestEntityTooLarge:
		return llm.ErrContextLength
	case status == http.StatusTooManyRequests:
		return oneOf(sign, llm.ErrRateLimit, llm.ErrQuota)
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return oneOf(sign, llm.ErrInvalidRequest, llm.ErrContextLength, llm.ErrContentFilter, llm.ErrQuota, llm.ErrAuthentication)
	case status == http.StatusGatewayTimeout:
		return llm.ErrTimeout
	case status == http.StatusServiceUnavailable &&
		containsAny(message, []string{"loading model", "currently loading", "still loading", "model is loading"}):
		return llm.ErrLoading
	case status >= 500 && strings.Contains(message, "image input is not supported"): // llama-server
		return llm.ErrInvalidRequest
	case status >= 500:
		return llm.ErrServer
	case status >= 400:
		return llm.ErrInvalidRequest
	}
	return sign
}

func oneOf(sign, otherwise llm.ErrorKind, allowed ...llm.ErrorKind) llm.ErrorKind {
	if slices.Contains(allowed, sign) {
		return sign
	}
	return otherwise
}

func containsAny(s string, subs []string) bool {
	return slices.ContainsFunc(subs, func(sub string) bool { return strings.Contains(s, sub) })
}

// retryInfo returns the wait that Google's error details ask for, or 0.
func retryInfo(obj Value) time.Duration {
	for it := obj.Get("details").Elements(); it.Next(); {
		if d, err := time.ParseDuration(it.Value.Get("retryDelay").Str()); err == nil && d > 0 {
			return d
		}
	}
	return 0
}

func snippet(body []byte) string {
	const show = 300
	s := strings.TrimSpace(string(body))
	if len(s) > show {
		s = strings.ToValidUTF8(s[:show], "") + "…"
	}
	return s
}

const redacted = "[redacted]"

// keyShapes matches the API keys of known vendors, credentials in headers, and JWTs.
var keyShapes = lazy.Regexp(
	`(?i)\b(?:sk|rk|pk|gsk|xai|r8|hf|nvapi|pplx|csk|fw)[-_][a-z0-9_\-]{16,}|\bAIza[a-z0-9_\-]{30,}|\bya29\.[a-z0-9_\-.]{20,}` +
		`|\bBearer\s+[a-z0-9_\-.=+/]{12,}|\beyJ[a-z0-9_\-]{8,}\.eyJ[a-z0-9_\-]{8,}\.[a-z0-9_\-]{8,}`,
)

// Redact replaces everything in text that looks like a credential.
func Redact(text string) string { return keyShapes().ReplaceAllString(text, redacted) }

// RedactURL replaces the credentials in a URL: everything before an @, and all query values except known harmless
// parameters.
func RedactURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Redact(text)
	}
	rest, query, found := strings.Cut(rest, "?")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = redacted + rest[i:]
	}
	if found {
		params := strings.Split(query, "&")
		for i, p := range params {
			switch name, _, named := strings.Cut(p, "="); {
			case !named:
				params[i] = redacted
			case !slices.Contains(harmless, name):
				params[i] = name + "=" + redacted
			}
		}
		rest += "?" + strings.Join(params, "&")
	}
	return Redact(scheme + "://" + rest)
}

var harmless = []string{"alt", "api-version", "beta"}

// redact replaces a known secret, and everything that looks like one.
func redact(text, secret string) string {
	if len(secret) >= 4 {
		text = strings.ReplaceAll(text, secret, redacted)
		text = strings.ReplaceAll(text, url.QueryEscape(secret), redacted)
	}
	return Redact(text)
}

// plainNetworkError returns a failed call's message without the URL, which may be private.
func plainNetworkError(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		host := ""
		if u, perr := url.Parse(ue.URL); perr == nil {
			host = u.Host
		}
		return "the call to " + host + " failed: " + ue.Err.Error()
	}
	return err.Error()
}
