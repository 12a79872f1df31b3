package bedrock

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Credentials identify an AWS user or role. SessionToken is empty for long-term credentials.
type Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }

// Sign returns an Endpoint.Sign that signs requests for a region with AWS Signature Version 4. It calls credentials
// before every request.
func Sign(region string, credentials func(context.Context) (Credentials, error)) func(*http.Request, []byte) error {
	return SignFor("bedrock", region, credentials)
}

// SignFor is Sign for another service, such as "bedrock-mantle".
func SignFor(service, region string, credentials func(context.Context) (Credentials, error)) func(*http.Request, []byte) error {
	return func(r *http.Request, body []byte) error {
		c, err := credentials(r.Context())
		if err != nil {
			return err
		}
		sign(r, body, c, region, service, time.Now())
		return nil
	}
}

const algorithm = "AWS4-HMAC-SHA256"

// sign adds the signature headers. It signs the host, the content type and all AWS headers.
func sign(r *http.Request, body []byte, c Credentials, region, service string, now time.Time) {
	date := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", date)
	if c.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", c.SessionToken)
	}
	scope := strings.Join([]string{date[:8], region, service, "aws4_request"}, "/")
	canonical, signed := canonicalRequest(r, body)
	key := []byte("AWS4" + c.SecretAccessKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	signature := mac(key, strings.Join([]string{algorithm, date, scope, digest([]byte(canonical))}, "\n"))
	r.Header.Set("Authorization", algorithm+" Credential="+c.AccessKeyID+"/"+scope+
		", SignedHeaders="+signed+", Signature="+hex.EncodeToString(signature))
}

// canonicalRequest returns the text to sign and the names of the signed headers.
func canonicalRequest(r *http.Request, body []byte) (canonical, signed string) {
	headers := map[string]string{"host": r.Host}
	for name, values := range r.Header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			headers[name] = strings.Join(strings.Fields(strings.Join(values, ",")), " ")
		}
	}
	names := slices.Sorted(maps.Keys(headers))
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + ":" + headers[name] + "\n")
	}
	signed = strings.Join(names, ";")
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")
	return strings.Join([]string{r.Method, escape(r.URL.EscapedPath()), query, lines.String(), signed, digest(body)}, "\n"), signed
}

// escape encodes a path again: AWS signs paths that are encoded twice.
func escape(path string) string {
	if path == "" {
		return "/"
	}
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
