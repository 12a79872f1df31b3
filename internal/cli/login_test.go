package cli

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/chatgpt"
	"github.com/reins-agent/reins/llm/llmtest"
)

// planToken and planRefresh are the tokens of the plan. They must never be shown.
const (
	planToken   = "plan-access-0123456789abcdef"
	planRefresh = "plan-refresh-0123456789abcdef"
)

// startPlan starts an authorization server, and a model server that accepts only its token.
func startPlan(t *testing.T) (s chatgpt.Service, revoked *bool) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	var asked url.Values
	revoked = new(bool)
	mux := http.NewServeMux()
	auth := httptest.NewServer(mux)
	t.Cleanup(auth.Close)
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		back := url.Values{"state": {asked.Get("state")}, "code": {"plan-code"}, "client_id": {"oaiapp_cli"}}
		http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("client_id") != "oaiapp_cli" || r.FormValue("redirect_uri") != asked.Get("redirect_uri") || b64(sum[:]) != asked.Get("code_challenge") {
			t.Errorf("the code is exchanged with %v", r.Form)
		}
		claims, _ := json.Marshal(map[string]any{
			"iss": auth.URL, "sub": "u", "aud": "oaiapp_cli", "exp": time.Now().Add(time.Hour).Unix(), "nonce": asked.Get("nonce"), "email": "ada@example.com",
		})
		text := b64([]byte(`{"alg":"RS256"}`)) + "." + b64(claims)
		digest := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
		if err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"access_token": planToken, "refresh_token": planRefresh, "id_token": text + "." + b64(signature),
			"token_type": "Bearer", "expires_in": 3600, "scope": asked.Get("scope"),
		})
	})
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) { *revoked = r.FormValue("token") == planRefresh })
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"revocation_endpoint":%q}`, auth.URL, auth.URL+"/keys", auth.URL+"/revoke")
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[{"kty":"RSA","n":%q,"e":%q}]}`, b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes()))
	})
	models := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: reply}, Key: planToken})
	t.Cleanup(models.Close)
	return chatgpt.Service{
		Issuer: auth.URL, AuthorizeURL: auth.URL + "/authorize", TokenURL: auth.URL + "/token", API: models.BaseURL("openai"), Resource: "https://api.openai.com/v1",
	}, revoked
}

func TestLogin_ChatGPT(t *testing.T) {
	service, revoked := startPlan(t)
	dir := t.TempDir()
	env := map[string]string{"REINS_HOME": filepath.Join(dir, "state"), "HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config")}
	opened := 0
	command := func(stdin string, want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		h := Host{
			Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] },
			systemDir: filepath.Join(dir, "etc"), chatgpt: service,
		}
		h.openURL = func(address string) error {
			opened++
			go func() {
				if resp, err := http.Get(address); err == nil {
					resp.Body.Close()
				}
			}()
			return nil
		}
		if code := Main(h); code != want {
			t.Fatalf("%v: exit code %d, want %d: %s", args, code, want, &errs)
		}
		for _, secret := range []string{planToken, planRefresh, "plan-code", "eyJ"} {
			if strings.Contains(out.String()+errs.String(), secret) {
				t.Errorf("%v shows %s: %s%s", args, secret, &out, &errs)
			}
		}
		return out.String(), errs.String()
	}
	contains := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q", text, want)
		}
	}

	out, _ := command("", exitOK, "login", "status")
	contains(out, "chatgpt: not signed in; run `reins login chatgpt`")
	_, errs := command("", exitAuth, "ask", "--provider", "chatgpt", "ping")
	contains(errs, "you are not signed in with ChatGPT; run `reins login chatgpt`")

	_, errs = command("", exitOK, "login", "chatgpt")
	contains(errs, service.AuthorizeURL+"?")
	contains(errs, "signed in with ChatGPT as ada@example.com; use it with --provider chatgpt")
	if opened != 1 {
		t.Errorf("the browser was opened %d times", opened)
	}
	out, _ = command("", exitOK, "login", "status")
	contains(out, "chatgpt: signed in as ada@example.com, until ")
	out, _ = command("", exitOK, "login", "status", "--json")
	contains(out, `"signed_in":true`)

	out, errs = command("", exitOK, "ask", "--provider", "chatgpt", "--debug", "ping")
	contains(out, "pong")
	contains(errs, `"store":false`)
	out, _ = command("", exitOK, "run", "--provider", "chatgpt", "--cwd", t.TempDir(), "ping")
	contains(out, "pong")
	_, errs = command("", exitUsage, "ask", "--provider", "chatgpt", "--base-url", "http://127.0.0.1:1", "ping")
	contains(errs, "provider chatgpt has no other base URL")

	_, errs = command("", exitOK, "logout", "chatgpt")
	contains(errs, "signed out from ChatGPT")
	if !*revoked {
		t.Error("the tokens were not revoked")
	}
	data, err := os.ReadFile(filepath.Join(dir, "state", "chatgpt", "signin.json"))
	if err != nil || strings.Contains(string(data), "plan-") || !strings.Contains(string(data), "oaiapp_cli") {
		t.Errorf("the file is %s, %v", data, err)
	}
	_, errs = command("", exitOK, "logout", "chatgpt")
	contains(errs, "you were not signed in with ChatGPT")
}

func TestLogin_ChatGPTWithoutBrowser(t *testing.T) {
	service, _ := startPlan(t)
	dir := t.TempDir()
	env := map[string]string{"REINS_HOME": dir}
	var errs bytes.Buffer
	h := Host{
		Args: []string{"login", "chatgpt", "--no-browser", "--timeout", "1ms"}, Stdin: strings.NewReader("yes\n"), Stdout: &errs, Stderr: &errs,
		Getenv: func(name string) string { return env[name] }, chatgpt: service,
		openURL: func(string) error { t.Error("the browser was opened"); return nil },
	}
	if code := Main(h); code != exitFailed || !strings.Contains(errs.String(), "no answer from the browser: the time is over; run the command again") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}
