package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// authServer is an MCP server that needs authorization, with its authorization server.
type authServer struct {
	*httptest.Server
	life time.Duration // token lifetime

	mu        sync.Mutex
	verifiers map[string]string // by code
	tokens    map[string]bool   // valid tokens
	refresh   string            // the valid refresh token
	refreshes int
	deny      bool
}

func newAuthServer(t *testing.T) *authServer {
	s := &authServer{life: time.Hour, verifiers: map[string]string{}, tokens: map[string]bool{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "guarded"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "hello"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil, nil
	})
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.tokens[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	guard := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: s.URL + "/.well-known/oauth-protected-resource"})
	mux.Handle("/mcp", guard(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})))
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	})
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		v, err := s.token(r)
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_grant", "error_description": err.Error()})
			return
		}
		answer(w, v)
	})
	return s
}

func (s *authServer) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	back, _ := url.Parse(q.Get("redirect_uri"))
	out := url.Values{"state": {q.Get("state")}}
	if s.deny {
		out.Set("error", "access_denied")
	} else {
		code := fmt.Sprintf("code-%d", len(s.verifiers))
		s.verifiers[code] = q.Get("code_challenge")
		out.Set("code", code)
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (s *authServer) token(r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.FormValue("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if s.verifiers[r.FormValue("code")] != base64.RawURLEncoding.EncodeToString(sum[:]) {
			return nil, errors.New("the verifier is wrong")
		}
	case "refresh_token":
		if s.refresh == "" || r.FormValue("refresh_token") != s.refresh {
			return nil, errors.New("the refresh token is wrong")
		}
		s.refreshes++
	}
	access := fmt.Sprintf("access-%d", len(s.tokens))
	s.tokens[access], s.refresh = true, fmt.Sprintf("refresh-%d", len(s.tokens))
	return map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(s.life.Seconds()), "refresh_token": s.refresh}, nil
}

// revoke makes all tokens invalid.
func (s *authServer) revoke(refresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token := range s.tokens {
		s.tokens[token] = false
	}
	if refresh {
		s.refresh = ""
	}
}

// browse visits a URL as a browser does.
func browse(u string) error {
	resp, err := http.Get(u)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

func TestLogin_AuthorizesAndRefreshes(t *testing.T) {
	s := newAuthServer(t)
	g := &Grants{Dir: filepath.Join(t.TempDir(), "grants")}
	servers := map[string]Server{"guarded": {URL: s.URL + "/mcp"}}
	open := func() *Client {
		c := Open(t.Context(), Config{Servers: servers, Token: g.Token(servers)})
		t.Cleanup(func() { c.Close() })
		c.Wait(t.Context(), time.Minute)
		return c
	}
	state := func(when string, want State) {
		t.Helper()
		if st := open().Status()[0]; st.State != want {
			t.Errorf("%s: %s, %v, want %s", when, st.State, st.Err, want)
		}
	}
	state("before the login", NeedsAuth)
	if err := g.Login(t.Context(), servers["guarded"], browse); err != nil {
		t.Fatal(err)
	}
	state("after the login", Connected)
	files, err := os.ReadDir(g.Dir)
	if err != nil || len(files) != 2 { // the grant and its lock
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if fi, err := f.Info(); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("the mode of %s is %v, %v", f.Name(), fi.Mode(), err)
		}
	}

	s.revoke(false)
	state("after the server has forgotten the token", Connected)
	if s.refreshes != 1 {
		t.Errorf("refreshed %d times, want once", s.refreshes)
	}
	s.revoke(true)
	state("after the server has forgotten everything", NeedsAuth)

	s.life = 30 * time.Second // about to end
	if err := g.Login(t.Context(), servers["guarded"], browse); err != nil {
		t.Fatal(err)
	}
	before := s.refreshes
	if token, err := g.Token(servers)(t.Context(), "guarded", ""); err != nil || token == "" || s.refreshes != before+1 {
		t.Errorf("a token that is about to end: %q, %v, refreshed %d times", token, err, s.refreshes-before)
	}
	if had, err := g.Logout(servers["guarded"]); !had || err != nil {
		t.Errorf("logout: %v, %v", had, err)
	}
	state("after the logout", NeedsAuth)
}

func TestLogin_ProcessesRefreshATokenOnce(t *testing.T) {
	s := newAuthServer(t)
	dir := t.TempDir()
	servers := map[string]Server{"guarded": {URL: s.URL + "/mcp"}}
	first := &Grants{Dir: dir}
	if err := first.Login(t.Context(), servers["guarded"], browse); err != nil {
		t.Fatal(err)
	}
	old, err := first.Token(servers)(t.Context(), "guarded", "")
	if err != nil || old == "" {
		t.Fatalf("got %q, %v", old, err)
	}
	tokens := make([]string, 8)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() {
			var err error
			if tokens[i], err = (&Grants{Dir: dir}).Token(servers)(t.Context(), "guarded", old); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, token := range tokens {
		if token == "" || token == old || token != tokens[0] {
			t.Errorf("the tokens are %q; want the same new one for all", tokens)
			break
		}
	}
	if s.refreshes != 1 {
		t.Errorf("refreshed %d times, want once", s.refreshes)
	}
}

func TestLogin_Refused(t *testing.T) {
	s := newAuthServer(t)
	s.deny = true
	g := &Grants{Dir: t.TempDir()}
	if err := g.Login(t.Context(), Server{URL: s.URL + "/mcp"}, browse); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("a refused login: %v", err)
	}
	if err := g.Login(t.Context(), Server{Command: "x"}, browse); err == nil {
		t.Error("a command was authorized")
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := g.Login(ctx, Server{URL: s.URL + "/mcp"}, func(string) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted login: %v", err)
	}
	if files, _ := os.ReadDir(g.Dir); len(files) != 0 {
		t.Errorf("%d files are left", len(files))
	}
}

func TestLogin_IgnoresAnswersWithoutItsState(t *testing.T) {
	s := newAuthServer(t)
	g := &Grants{Dir: t.TempDir()}
	err := g.Login(t.Context(), Server{URL: s.URL + "/mcp"}, func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := u.Query().Get("redirect_uri")
		for _, query := range []string{"?code=stolen&state=guessed", "?code=stolen", "?error=access_denied", "?error=access_denied&state="} {
			resp, err := http.Get(back + query)
			if err != nil {
				return err
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s, want 400", query, resp.Status)
			}
		}
		return browse(address)
	})
	if err != nil {
		t.Errorf("the login after wrong answers: %v", err)
	}
}

func TestCallback_AcceptsNothingForAURLWithoutAState(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wait := callback(l, "https://example.com/authorize")
	defer wait(ctx)
	resp, err := http.Get("http://" + l.Addr().String() + "/callback?code=stolen")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %s, want 400", resp.Status)
	}
}

func TestLogin_ErrorsDoNotShowTheURL(t *testing.T) {
	g := &Grants{Dir: t.TempDir()}
	for _, address := range []string{"http://127.0.0.1:1/mcp?key=hush-hush", "http://127.0.0.1:1/%zz?key=hush-hush"} {
		if err := g.Login(t.Context(), Server{URL: address}, browse); err == nil || strings.Contains(err.Error(), "hush-hush") {
			t.Errorf("%s: %v", address, err)
		}
		c := Open(t.Context(), Config{Servers: map[string]Server{"s": {URL: address}}})
		c.Wait(t.Context(), time.Minute)
		if st := c.Status()[0]; st.State != Failed || strings.Contains(st.Err.Error(), "hush-hush") {
			t.Errorf("%s: %s, %v", address, st.State, st.Err)
		}
		c.Close()
	}
}

// TestLogin_FollowsMetadataOnlyWhereItMay has servers that refer to other hosts for their authorization. "localhost" is
// another host than 127.0.0.1, and its server would answer.
func TestLogin_FollowsMetadataOnlyWhereItMay(t *testing.T) {
	good := newAuthServer(t)
	elsewhere := strings.Replace(good.URL, "127.0.0.1", "localhost", 1)
	secure := httptest.NewTLSServer(good.Config.Handler)
	t.Cleanup(secure.Close)
	for name, tt := range map[string]struct{ metadata, authority, authorize, token, refused string }{
		"metadata at another loopback host":             {metadata: elsewhere, refused: elsewhere},
		"metadata at a name of a loopback address":      {metadata: strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), refused: "not a public address"},
		"authorization server at another loopback host": {authority: elsewhere, refused: elsewhere},
		"authorization endpoint without TLS":            {authorize: "http://example.com", refused: "http://example.com"},
		"token endpoint at another loopback host":       {token: elsewhere, refused: elsewhere},
		"another port of the same host":                 {authority: good.URL},
	} {
		t.Run(name, func(t *testing.T) {
			reached := false
			mux := http.NewServeMux()
			s := httptest.NewServer(mux)
			t.Cleanup(s.Close)
			base := func(other string) string { return cmp.Or(other, s.URL) }
			mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", base(tt.metadata)+"/.well-known/oauth-protected-resource"))
				w.WriteHeader(http.StatusUnauthorized)
			})
			mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q]}`, s.URL+"/mcp", base(tt.authority))
			})
			mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"registration_endpoint":%q,"response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`,
					s.URL, base(tt.authorize)+"/authorize", base(tt.token)+"/token", good.URL+"/register")
			})
			mux.HandleFunc("/authorize", good.authorize)
			g := &Grants{Dir: t.TempDir(), HTTPClient: secure.Client()}
			err := g.Login(t.Context(), Server{URL: s.URL + "/mcp"}, func(u string) error {
				reached = true
				return browse(u)
			})
			if tt.refused == "" {
				if !reached {
					t.Errorf("the metadata of another port was not used: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %v, want a refusal that names %s", err, tt.refused)
			}
			if files, _ := os.ReadDir(g.Dir); len(files) != 0 {
				t.Errorf("%d files are saved", len(files))
			}
		})
	}
}

func TestLogin_PublicAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "10.1.2.3": false,
		"172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "fe80::1": false,
		"fd00::1": false, "224.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "255.255.255.255": false,
		"168.63.129.16": false, "192.0.2.1": false, "2001:db8::1": false, "fec0::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestLogin_URLsOfTheAuthorization(t *testing.T) {
	for server, urls := range map[string]map[string]bool{
		"https://mcp.example.com/mcp": {
			"https://mcp.example.com:8443/x": true, "https://auth.example.org": true, "https://8.8.8.8": true, "http://mcp.example.com": false,
			"http://auth.example.org": false, "https://10.0.0.1": false, "https://[::1]": false, "http://169.254.169.254/latest": false, "file:///etc/passwd": false,
		},
		"http://127.0.0.1:3000/mcp": {
			"http://127.0.0.1:9000/x": true, "https://127.0.0.1": true, "https://auth.example.org": true, "http://localhost:9000": false, "http://[::1]:9000": false,
			"http://auth.example.org": false, "https://192.168.0.1": false,
		},
	} {
		_, b, err := within(http.DefaultClient, server)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range urls {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.check(u); (err == nil) != want {
				t.Errorf("%s refers to %s: %v", server, text, err)
			}
		}
	}
}
