// Package webhook signs, verifies and receives webhooks according to Standard Webhooks (standardwebhooks.com).
//
// A message has an ID, a time and a body. The signature is an HMAC-SHA256 over all of them, with a shared secret.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/lazy"
)

// Message headers.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is how far a message's time may be in the past or in the future.
const Tolerance = 5 * time.Minute

// minSecret is a secret's minimum length in bytes.
const minSecret = 16

// Secret is a shared secret.
type Secret struct{ key []byte }

// ParseSecret parses a secret: "whsec_" followed by base64, or any text. It must have at least 16 bytes.
func ParseSecret(text string) (Secret, error) {
	key := []byte(text)
	if coded, ok := strings.CutPrefix(text, "whsec_"); ok {
		var err error
		if key, err = base64.StdEncoding.DecodeString(coded); err != nil {
			return Secret{}, errors.New("the secret begins with whsec_, but the rest is not base64")
		}
	}
	if len(key) < minSecret {
		return Secret{}, fmt.Errorf("the secret is too short: use at least %d bytes", minSecret)
	}
	return Secret{key}, nil
}

// Sign sets a message's headers.
func (s Secret) Sign(h http.Header, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(s.sum(id, stamp, body)))
}

func (s Secret) sum(id, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	return mac.Sum(nil)
}

var validID = lazy.Regexp(`^[A-Za-z0-9_-]{1,128}$`)

// errSignature is the only error for unauthorized messages, so that senders learn nothing else.
var errSignature = errors.New("the signature is missing, wrong or too old")

// Verify returns a message's ID if its signature and time are valid.
func (s Secret) Verify(h http.Header, body []byte, now time.Time) (id string, err error) {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if len(s.key) < minSecret || !validID().MatchString(id) || err != nil {
		return "", errSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return "", errSignature
	}
	want := s.sum(id, stamp, body)
	valid := false
	for _, field := range strings.Fields(h.Get(HeaderSignature)) { // there are several while a secret is being replaced
		version, text, _ := strings.Cut(field, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		valid = valid || err == nil && version == "v1" && hmac.Equal(got, want)
	}
	if !valid {
		return "", errSignature
	}
	return id, nil
}
