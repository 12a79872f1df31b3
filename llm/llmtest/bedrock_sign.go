package llmtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// awsAuthorized reports whether a request is signed with this secret key, or has it as a bearer token. It follows the
// documentation of Signature Version 4 and shares no code with the signer. An empty key accepts any.
func awsAuthorized(r *http.Request, body []byte, key string) bool {
	rest, signed := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !signed {
		return bearerOnly(r, key)
	}
	fields := map[string]string{}
	for f := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(f, "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	names := strings.Split(fields["SignedHeaders"], ";")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 15*time.Minute || len(scope) != 5 || scope[1] != at.Format("20060102") ||
		!signedFor(r, scope[3]) || scope[4] != "aws4_request" || !slices.IsSorted(names) || !signsEnough(r.Header, names) {
		return false
	}
	if key == "" {
		return fields["Signature"] != ""
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	canonical := r.Method + "\n" + strings.NewReplacer("%", "%25", ":", "%3A", "@", "%40", "=", "%3D", "+", "%2B").Replace(path) + "\n" + query + "\n"
	for _, name := range names {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + fields["SignedHeaders"] + "\n" + fmt.Sprintf("%x", sha256.Sum256(body))
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), sha256.Sum256([]byte(canonical)))
	k := hmac256([]byte("AWS4"+key), scope[1])
	k = hmac256(hmac256(hmac256(k, scope[2]), scope[3]), scope[4])
	return fields["Signature"] == fmt.Sprintf("%x", hmac256(k, text))
}

// signedFor reports whether a signature is for the right service. The Messages API is part of two.
func signedFor(r *http.Request, service string) bool {
	return service == "bedrock" || service == "bedrock-mantle" && strings.HasPrefix(r.URL.Path, "/anthropic/")
}

// signsEnough reports whether the host and all headers of AWS are signed.
func signsEnough(h http.Header, names []string) bool {
	for name := range h {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(names, name) {
			return false
		}
	}
	return slices.Contains(names, "host")
}

func hmac256(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}
