package chatgpt

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// server is an authorization server and a Responses API that check every parameter. Problems are test errors.
type server struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey

	mu       sync.Mutex
	now      time.Time
	codes    map[string]url.Values // authorization requests by code
	clients  []string              // registered client IDs
	access   string                // the valid tokens
	refresh  string
	spent    []string // refresh tokens that were used
	counter  int
	refreshs int // requests
	seen     []url.Values
	bodies   []string

	// faults
	deny      string               // error from the authorization endpoint
	grants    string               // the granted scopes, if not all
	claims    func(map[string]any) // changes the ID token
	sign      *rsa.PrivateKey      // another key for ID tokens
	onRefresh func(w http.ResponseWriter) (done bool)
	api       func(w http.ResponseWriter, r *http.Request) (done bool)
	redirect  func(url.Values) // changes the redirect
}

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func startServer(t *testing.T) *server {
	s := &server{t: t, key: testKey(), now: start, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("POST /v1/responses", s.responses)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"revocation_endpoint":%q}`, s.URL, s.URL+"/keys", s.URL+"/revoke")
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		b64 := base64.RawURLEncoding.EncodeToString
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","kid":"other"},{"kty":"RSA","kid":"k1","use":"sig","n":%q,"e":%q}]}`,
			b64(s.key.N.Bytes()), b64(big.NewInt(int64(s.key.E)).Bytes()))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *server) service() Service {
	return Service{Issuer: s.URL, AuthorizeURL: s.URL + "/authorize", TokenURL: s.URL + "/token", API: s.URL + "/v1", Resource: "https://api.openai.com/v1"}
}

func (s *server) account() *Account {
	return &Account{Dir: s.t.TempDir() + "/chatgpt", Service: s.service(), now: s.clock}
}

func (s *server) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *server) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	s.seen = append(s.seen, q)
	for name, want := range map[string]string{
		"response_type":         `code`,
		"scope":                 `openid profile email offline_access resource\.invoke chatgpt\.tokens\.use\.direct`,
		"resource":              `https://api\.openai\.com/v1`,
		"code_challenge_method": `S256`,
		"code_challenge":        `[\w-]{43}`,
		"state":                 `\w{22,}`,
		"nonce":                 `\w{22,}`,
		"redirect_uri":          `http://127\.0\.0\.1:\d+/auth/callback`,
		"ext_agent_host_id":     `urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
	} {
		if !regexp.MustCompile(`^(?:`+want+`)$`).MatchString(q.Get(name)) || len(q[name]) != 1 {
			s.t.Errorf("authorize: %s is %q, want %s", name, q[name], want)
		}
	}
	client := q.Get("client_id")
	if client == newClient {
		if q.Get("agent_name_hint") != "Reins" {
			s.t.Errorf("authorize: agent_name_hint is %q, want Reins", q.Get("agent_name_hint"))
		}
		client = fmt.Sprintf("oaiapp_%d", len(s.clients)+1)
		s.clients = append(s.clients, client)
	} else if !slices.Contains(s.clients, client) || q.Has("agent_name_hint") {
		s.t.Errorf("authorize: unexpected client %q with %v", client, q)
	}
	s.counter++
	code := fmt.Sprintf("code-%d", s.counter)
	q.Set("client_id", client)
	s.codes[code] = q
	back := url.Values{"state": {q.Get("state")}, "code": {code}, "client_id": {client}, "scope": {"openid email"}}
	if s.deny != "" {
		back = url.Values{"state": {q.Get("state")}, "error": {s.deny}, "error_description": {"<b>no</b>"}}
	}
	if s.redirect != nil {
		s.redirect(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	w.Header().Set("Date", s.now.Add(time.Hour).Format(http.TimeFormat)) // its clock is an hour ahead
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q,"error_description":"you sent %s"}`, code, r.Form.Encode())
	}
	if r.Form.Get("resource") != "https://api.openai.com/v1" || r.URL.RawQuery != "" {
		s.t.Errorf("token: %v in %s", r.Form, r.URL)
	}
	answer := map[string]any{"token_type": "Bearer", "expires_in": 3600, "earliest_refresh_at": s.now.Add(time.Hour + 54*time.Minute).Unix(), "scope": scopes}
	if s.grants != "" {
		answer["scope"] = s.grants
	}
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked, ok := s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			r.Form.Get("redirect_uri") != asked.Get("redirect_uri") || r.Form.Get("client_id") != asked.Get("client_id") {
			refuse("invalid_grant")
			return
		}
		answer["id_token"] = s.idToken(asked)
	case "refresh_token":
		s.refreshs++
		token := r.Form.Get("refresh_token")
		if slices.Contains(s.spent, token) {
			refuse("refresh_token_reused")
			return
		}
		s.spent = append(s.spent, token)
		if token != s.refresh || !slices.Contains(s.clients, r.Form.Get("client_id")) {
			refuse("invalid_grant")
			return
		}
		if s.onRefresh != nil && s.onRefresh(w) {
			return
		}
	default:
		s.t.Errorf("token: unexpected grant %v", r.Form)
	}
	s.counter++
	s.access, s.refresh = fmt.Sprintf("access-secret-%d", s.counter), fmt.Sprintf("refresh-secret-%d", s.counter)
	answer["access_token"], answer["refresh_token"] = s.access, s.refresh
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *server) idToken(asked url.Values) string {
	c := map[string]any{
		"iss": s.URL, "sub": "user-1", "aud": []string{asked.Get("client_id")}, "exp": s.now.Add(time.Hour).Unix(),
		"nonce": asked.Get("nonce"), "email": "ada@example.com",
	}
	if s.claims != nil {
		s.claims(c)
	}
	claims, _ := json.Marshal(c)
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + b64(claims)
	sum := sha256.Sum256([]byte(text))
	key := s.key
	if s.sign != nil {
		key = s.sign
	}
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Error(err)
	}
	return text + "." + b64(signature)
}

func (s *server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	want := url.Values{"token": {s.refresh}, "token_type_hint": {"refresh_token"}, "client_id": {s.clients[0]}}
	if !maps.EqualFunc(r.Form, want, slices.Equal) {
		s.t.Errorf("revoke: got %v, want %v", r.Form, want)
	}
	s.access, s.refresh = "", ""
}

// responses plays a model. Its last event does not repeat the items.
func (s *server) responses(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(body))
	if got := r.Header.Get("Authorization"); s.access == "" || got != "Bearer "+s.access {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"detail":{"error_code":"invalid_token","message":"bad token %s"}}`, strings.TrimPrefix(got, "Bearer "))
		return
	}
	if s.api != nil && s.api(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []string{
		`{"type":"response.created","response":{"id":"r1","model":"gpt-6.1-sol","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":0,"item_id":"m1","content_index":0,"delta":"pong"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"m1","type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"pong"}]}}`,
		`{"type":"response.completed","response":{"id":"r1","model":"gpt-6.1-sol","status":"completed","output":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
	} {
		fmt.Fprintf(w, "data: %s\n\n", event)
	}
}
