package connect_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/llm/llmtest"
)

// tokens is a token server. It gives the access token "token-N" to its Nth valid request.
type tokens struct {
	*httptest.Server
	n         atomic.Int64
	expiresIn int
	check     func(form url.Values) error
}

func newTokens(t *testing.T, expiresIn int) *tokens {
	t.Helper()
	s := &tokens{expiresIn: expiresIn}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err == nil {
			err = s.check(r.PostForm)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":"invalid_grant","error_description":%q}`, err)
				return
			}
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":%d,"token_type":"Bearer"}`, s.n.Add(1), s.expiresIn)
	}))
	t.Cleanup(s.Close)
	return s
}

// vertex opens Vertex with a credentials file and calls a server that expects a token.
func vertex(t *testing.T, file, expect string, debug *bytes.Buffer) (*llm.Client, func() (*llm.Response, error)) {
	t.Helper()
	server := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("hi") }}, Key: expect})
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	e := env{"GOOGLE_APPLICATION_CREDENTIALS": file, "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_VERTEX_BASE_URL": server.BaseURL("vertex")}
	c := connect.Config{Getenv: e.get, HTTPClient: client}
	if debug != nil {
		c.Debug = debug
	}
	k, err := connect.Open(t.Context(), "vertex", c)
	if err != nil {
		t.Fatal(err)
	}
	return k, func() (*llm.Response, error) { return k.Complete(t.Context(), request("", "claude-x")) }
}

func TestVertex_AServiceAccountSignsForItsTokens(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	srv := newTokens(t, 3600)
	srv.check = func(form url.Values) error {
		parts := strings.Split(form.Get("assertion"), ".")
		if len(parts) != 3 || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			return fmt.Errorf("the form is %v", form)
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		signature, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err == nil {
			err = rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature)
		}
		if err != nil {
			return err
		}
		var header struct{ Alg, Kid string }
		var claims struct {
			Iss, Aud, Scope string
			Iat, Exp        int64
		}
		for i, v := range []any{&header, &claims} {
			data, err := base64.RawURLEncoding.DecodeString(parts[i])
			if err == nil {
				err = json.Unmarshal(data, v)
			}
			if err != nil {
				return err
			}
		}
		if header.Alg != "RS256" || header.Kid != "kid" || claims.Iss != "me@p.iam" || claims.Aud != srv.URL ||
			claims.Scope != "https://www.googleapis.com/auth/cloud-platform" || claims.Exp-claims.Iat != 3600 {
			return fmt.Errorf("the JWT is %+v %+v", header, claims)
		}
		return nil
	}
	text, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "p", "client_email": "me@p.iam", "private_key_id": "kid", "token_uri": srv.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	_, call := vertex(t, write(t, t.TempDir(), "key.json", string(text), 0o600), "token-1", &log)
	for range 2 {
		if resp, err := call(); err != nil || resp.Text() != "hi" {
			t.Fatalf("got %+v, %v", resp, err)
		}
	}
	if n := srv.n.Load(); n != 1 {
		t.Errorf("%d tokens were requested, want 1", n)
	}
	if strings.Contains(log.String(), "assertion") || strings.Contains(log.String(), "token-1") || !strings.Contains(log.String(), "claude-x") {
		t.Errorf("the debug log shows credentials, or not the call:\n%s", log.String())
	}
}

func TestVertex_AUserRefreshesTokensBeforeTheyExpire(t *testing.T) {
	srv := newTokens(t, 60) // less than the margin
	srv.check = func(form url.Values) error {
		if form.Get("grant_type") != "refresh_token" || form.Get("client_id") != "id" || form.Get("client_secret") != "s" || form.Get("refresh_token") != "refresh-me" {
			return fmt.Errorf("the form is wrong")
		}
		return nil
	}
	user := func(refresh string) string {
		return write(t, t.TempDir(), "user.json", fmt.Sprintf(`{"type":"authorized_user","client_id":"id","client_secret":"s","refresh_token":%q,"quota_project_id":"q","token_uri":%q}`, refresh, srv.URL), 0o600)
	}
	_, call := vertex(t, user("refresh-me"), "", nil)
	for range 2 {
		if _, err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if n := srv.n.Load(); n != 2 {
		t.Errorf("%d tokens were requested, want 2", n)
	}
	_, call = vertex(t, user("revoked"), "", nil)
	if _, err := call(); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "invalid_grant") || !strings.Contains(err.Error(), "user.json") || strings.Contains(err.Error(), "revoked") {
		t.Errorf("a refused refresh token: got %v", err)
	}
	recorded := newRecorder(t, 400)
	e := env{"GOOGLE_APPLICATION_CREDENTIALS": user("refresh-me"), "GOOGLE_CLOUD_PROJECT": "p"}
	c, err := connect.Open(t.Context(), "vertex", connect.Config{Getenv: e.get, BaseURL: recorded.URL, HTTPClient: recorded.Client()})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Complete(t.Context(), request("", "gemini-x")) // refused; only the request matters
	if h := recorded.last(t).Header; h.Get("X-Goog-User-Project") != "q" || h.Get("Authorization") != "Bearer token-3" {
		t.Errorf("the headers are %v", h)
	}
}

func TestVertex_RefusesCredentialsThatItCannotUse(t *testing.T) {
	for text, says := range map[string]string{
		`{`: "is not a credentials file",
		`{"type":"authorized_user","token_uri":"http://example.com/token"}`: "not an https URL",
		`{"type":"service_account","private_key":"x"}`:                      "not in PEM format",
	} {
		e := env{"GOOGLE_APPLICATION_CREDENTIALS": write(t, t.TempDir(), "f.json", text, 0o600), "GOOGLE_CLOUD_PROJECT": "p"}
		if _, err := connect.Open(t.Context(), "vertex", connect.Config{Getenv: e.get}); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error with %q", text, err, says)
		}
	}
}

func TestVertex_AsksGcloudForOtherAccounts(t *testing.T) {
	scripts(t)
	bin := t.TempDir()
	write(t, bin, "gcloud", "#!/bin/sh\necho \"token-of $*\"\n", 0o700)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	other := write(t, t.TempDir(), "f.json", `{"type":"external_account"}`, 0o600)
	for _, tt := range []struct {
		env  env
		want string
	}{
		{env{"GOOGLE_CLOUD_PROJECT": "p", "HOME": "/nowhere"}, "Bearer token-of auth print-access-token"},
		{env{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": other}, "Bearer token-of auth application-default print-access-token"},
	} {
		if got := sent(t, "vertex", "gemini-x", tt.env).Header.Get("Authorization"); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	write(t, bin, "gcloud", "#!/bin/sh\necho 'ERROR: please log in' >&2\nexit 1\n", 0o700)
	c, err := connect.Open(t.Context(), "vertex", connect.Config{Getenv: env{"GOOGLE_CLOUD_PROJECT": "p", "HOME": "/nowhere"}.get})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), request("", "gemini-x")); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), "please log in") {
		t.Errorf("got %v, want what gcloud reports", err)
	}
}

func TestVertex_FindsApplicationDefaultCredentials(t *testing.T) {
	srv := newTokens(t, 3600)
	srv.check = func(url.Values) error { return nil }
	user := fmt.Sprintf(`{"type":"authorized_user","token_uri":%q}`, srv.URL)
	home := t.TempDir()
	write(t, home, ".config/gcloud/application_default_credentials.json", user, 0o600)
	write(t, home, "other/application_default_credentials.json", user, 0o600)
	for _, e := range []env{{"HOME": home, "GOOGLE_CLOUD_PROJECT": "p"}, {"CLOUDSDK_CONFIG": home + "/other", "GOOGLE_CLOUD_PROJECT": "p"}} {
		recorded := newRecorder(t, 400)
		c, err := connect.Open(t.Context(), "vertex", connect.Config{Getenv: e.get, BaseURL: recorded.URL, HTTPClient: recorded.Client()})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Complete(t.Context(), request("", "gemini-x")) // refused; only the request matters
		if got := recorded.last(t).Header.Get("Authorization"); !strings.HasPrefix(got, "Bearer token-") {
			t.Errorf("%v: got %q", e, got)
		}
	}
}
