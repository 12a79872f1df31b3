package wire

import (
	"errors"
	"net/url"
	"strings"
)

const redacted = "[redacted]"

// keyShapes are how the keys of the known vendors look, and how credentials stand in headers.
var keyShapes = lazily(`(?i)\b(?:sk|rk|pk|gsk|xai|r8|hf|nvapi|pplx|csk|fw)[-_][a-z0-9_\-]{16,}|\bAIza[a-z0-9_\-]{30,}|\bya29\.[a-z0-9_\-.]{20,}|\bBearer\s+[a-z0-9_\-.=+/]{12,}`)

// Redact removes what looks like a credential from text.
func Redact(text string) string { return keyShapes().ReplaceAllString(text, redacted) }

// redact removes a known secret, and what looks like one.
func redact(text, secret string) string {
	if len(secret) >= 4 {
		text = strings.ReplaceAll(text, secret, redacted)
		text = strings.ReplaceAll(text, url.QueryEscape(secret), redacted)
	}
	return Redact(text)
}

// plainNetworkError is the message of a failed call without the URL, which may be private.
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
