package chatgpt

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
)

// browser returns an opener that visits the URL and follows redirects, and a channel with the last page.
func browser() (open func(string) error, pages chan string) {
	pages = make(chan string, 1)
	return func(address string) error {
		go func() { pages <- visit(http.MethodGet, address, "", nil) }()
		return nil
	}, pages
}

// visit sends a request and returns the answer's status and body.
func visit(method, address, host string, header http.Header) string {
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		return err.Error()
	}
	req.Host = host
	for k, v := range header {
		req.Header[k] = v
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.Status + " " + string(body)
}

// signIn completes a sign-in in the browser.
func signIn(t *testing.T, a *Account) Status {
	t.Helper()
	open, pages := browser()
	st, err := a.Login(t.Context(), Login{Open: open})
	if err != nil {
		t.Fatal(err)
	}
	if page := <-pages; !strings.HasPrefix(page, "200 OK") || !strings.Contains(page, "Reins is signed in with ChatGPT") {
		t.Errorf("the page is %q", page)
	}
	return st
}

// content returns the file.
func content(t *testing.T, a *Account) (s saved) {
	t.Helper()
	data, err := os.ReadFile(a.file())
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err != nil || json.Unmarshal(data, &s) != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return s
}

func noSecrets(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "-secret-") || strings.Contains(text, "code-") || strings.Contains(text, "eyJ") {
		t.Errorf("a secret is in %q", text)
	}
}

func TestLogin_RegistersOnceAndKeepsTheHost(t *testing.T) {
	s := startServer(t)
	a := s.account()
	st := signIn(t, a)
	if !st.SignedIn || st.Email != "ada@example.com" || !st.Until.Equal(start.Add(30*24*time.Hour)) {
		t.Errorf("the status is %+v", st)
	}
	first := content(t, a)
	if first.ClientID != "oaiapp_1" || first.Subject != "user-1" || first.RefreshToken != s.refresh || first.AccessToken != s.access {
		t.Errorf("saved %+v", first)
	}
	if info, err := os.Stat(a.file()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %v, %v, want 0600", info.Mode(), err)
	}
	if info, err := os.Stat(a.Dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has %v, %v, want 0700", info.Mode(), err)
	}

	signIn(t, a)
	again := s.seen[1]
	if again.Get("client_id") != "oaiapp_1" || again.Get("ext_agent_host_id") != first.HostID || again.Get("login_hint") != "ada@example.com" || again.Has("prompt") {
		t.Errorf("the second sign-in asks with %v", again)
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if again.Get(name) == s.seen[0].Get(name) {
			t.Errorf("%s is used twice", name)
		}
	}

	open, _ := browser()
	if _, err := a.Login(t.Context(), Login{Open: open, New: true}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, a); got.ClientID != "oaiapp_2" || got.HostID != first.HostID {
		t.Errorf("with New, saved %+v", got)
	}
}

func TestLogin_RefusesUnverifiedTokens(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*server)
		want  string
	}{
		"denied":  {func(s *server) { s.deny = "access_denied" }, "the sign-in was refused in the browser"},
		"error":   {func(s *server) { s.deny = "temporarily_unavailable" }, "OpenAI refused the sign-in (temporarily_unavailable)"},
		"no code": {func(s *server) { s.redirect = func(q url.Values) { q.Del("code") } }, "the redirect has no code"},
		"wrong code": {func(s *server) { s.redirect = func(q url.Values) { q.Set("code", "code-other") } },
			"OpenAI refused the sign-in (HTTP 400: invalid_grant); run `reins login chatgpt` again"},
		"no client":      {func(s *server) { s.redirect = func(q url.Values) { q.Del("client_id") } }, "did not register"},
		"dynamic client": {func(s *server) { s.redirect = func(q url.Values) { q.Set("client_id", newClient) } }, "did not register"},
		"verifier": {func(s *server) {
			s.redirect = func(url.Values) {
				for _, q := range s.codes {
					q.Set("code_challenge", strings.Repeat("x", 43))
				}
			}
		}, "HTTP 400: invalid_grant"},
		"nonce":     {func(s *server) { s.claims = func(c map[string]any) { c["nonce"] = "other" } }, "for another sign-in"},
		"audience":  {func(s *server) { s.claims = func(c map[string]any) { c["aud"] = "oaiapp_9" } }, "for another client"},
		"audiences": {func(s *server) { s.claims = func(c map[string]any) { c["aud"] = []string{"oaiapp_1", "x"} } }, "for another client"},
		"issuer":    {func(s *server) { s.claims = func(c map[string]any) { c["iss"] = "https://evil.example" } }, "another issuer"},
		"expired":   {func(s *server) { s.claims = func(c map[string]any) { c["exp"] = start.Add(-time.Hour).Unix() } }, "has expired"},
		"subject":   {func(s *server) { s.claims = func(c map[string]any) { c["sub"] = "" } }, "names no account"},
		"signature": {func(s *server) { s.sign = other }, "the signature of the ID token is wrong"},
		"scopes":    {func(s *server) { s.grants = "openid email" }, "did not allow Reins to use your ChatGPT plan"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t)
			c.spoil(s)
			a := s.account()
			open, pages := browser()
			_, err := a.Login(t.Context(), Login{Open: open})
			if err == nil || !strings.Contains(err.Error(), c.want) || llm.KindOf(err) != llm.ErrAuthentication {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			noSecrets(t, err.Error())
			page := <-pages
			if !strings.Contains(page, "Reins is not signed in") || strings.Contains(page, "<b>") {
				t.Errorf("the page is %q", page)
			}
			noSecrets(t, page)
			if got := content(t, a); got.AccessToken != "" || got.RefreshToken != "" || got.HostID == "" {
				t.Errorf("saved %+v", got)
			}
		})
	}
}

func TestLogin_KeepsTheSignInIfAnotherAccountAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*server)
		want  string
	}{
		"client":  {func(s *server) { s.redirect = func(q url.Values) { q.Set("client_id", "oaiapp_7") } }, "another registration"},
		"subject": {func(s *server) { s.claims = func(c map[string]any) { c["sub"] = "user-2" } }, "another ChatGPT account"},
	} {
		s := startServer(t)
		a := s.account()
		signIn(t, a)
		before := content(t, a)
		c.spoil(s)
		open, _ := browser()
		_, err := a.Login(t.Context(), Login{Open: open})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--new") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if after := content(t, a); after.RefreshToken != before.RefreshToken || after.Subject != "user-1" {
			t.Errorf("%s: the sign-in was replaced: %+v", name, after)
		}
	}
}

func TestLogin_AsksForConsentAgainIfThePlanWasNotAllowed(t *testing.T) {
	s := startServer(t)
	a := s.account()
	s.grants = "openid email"
	open, _ := browser()
	if _, err := a.Login(t.Context(), Login{Open: open}); err == nil {
		t.Fatal("a sign-in without the plan succeeded")
	}
	s.grants = ""
	signIn(t, a)
	if got := s.seen[1]; got.Get("prompt") != "consent" || got.Get("client_id") != "oaiapp_1" {
		t.Errorf("asked with %v", got)
	}
}

// TestCallback_RefusesHostileRequests sends requests from other pages and programs to the listener during a sign-in.
func TestCallback_RefusesHostileRequests(t *testing.T) {
	s := startServer(t)
	a := s.account()
	var back *url.URL
	_, pages := browser()
	_, err := a.Login(t.Context(), Login{Open: func(address string) error {
		u, _ := url.Parse(address)
		state := u.Query().Get("state")
		back, _ = url.Parse(u.Query().Get("redirect_uri"))
		at := func(path string, q url.Values) string { return "http://" + back.Host + path + "?" + q.Encode() }
		good := url.Values{"state": {state}, "code": {"evil"}, "client_id": {"oaiapp_1"}}
		for name, c := range map[string]struct {
			method, address, host string
			header                http.Header
			want                  string
		}{
			"wrong path":      {"GET", at("/", good), "", nil, "404"},
			"longer path":     {"GET", at(callbackPath+"/x", good), "", nil, "404"},
			"wrong host":      {"GET", at(callbackPath, good), "evil.example", nil, "403"},
			"localhost":       {"GET", at(callbackPath, good), "localhost:" + back.Port(), nil, "403"},
			"cross-site form": {"POST", at(callbackPath, good), "", http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Mode": {"navigate"}}, "405"},
			"head":            {"HEAD", at(callbackPath, good), "", nil, "405"},
			"image":           {"GET", at(callbackPath, good), "", http.Header{"Sec-Fetch-Mode": {"no-cors"}, "Sec-Fetch-Site": {"cross-site"}}, "403"},
			"no state":        {"GET", at(callbackPath, url.Values{"code": {"evil"}}), "", nil, "400"},
			"wrong state":     {"GET", at(callbackPath, url.Values{"code": {"evil"}, "state": {state + "x"}}), "", nil, "400"},
			"two states":      {"GET", at(callbackPath, url.Values{"code": {"evil"}, "state": {state, "x"}}), "", nil, "400"},
			"denial":          {"GET", at(callbackPath, url.Values{"error": {"access_denied"}, "state": {"x"}}), "", nil, "400"},
			"issuer":          {"GET", at(callbackPath, url.Values{"code": {"evil"}, "state": {state}, "iss": {"https://evil.example"}}), "", nil, "400"},
		} {
			if got := visit(c.method, c.address, c.host, c.header); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: got %q, want %s", name, got, c.want)
			}
		}
		go func() {
			pages <- visit("GET", address, "", http.Header{"Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Site": {"cross-site"}})
		}()
		return nil
	}})
	if page := <-pages; err != nil || !strings.Contains(page, "Reins is signed in") {
		t.Fatalf("the sign-in failed: %v, %q", err, page)
	}
	if got := visit("GET", back.String(), "", nil); !strings.Contains(got, "refused") {
		t.Errorf("the listener still answers: %q", got)
	}
}

func TestCallback_AcceptsOneRedirect(t *testing.T) {
	c := &callback{address: "127.0.0.1:1", state: "right", got: make(chan answer, 1), said: make(chan struct{})}
	g, err := c.read(url.Values{"state": {"right"}, "code": {"c"}, "client_id": {"x"}})
	if err != nil || !c.accept(answer{g, nil}) || c.accept(answer{g, nil}) {
		t.Errorf("%v: the second redirect was accepted, or the first was not", err)
	}
	req, _ := http.NewRequest("GET", "http://127.0.0.1:1/auth/callback?state=right&code=c", nil)
	w := newRecorder()
	c.ServeHTTP(w, req)
	if w.status != http.StatusGone || !strings.Contains(w.body, "already completed") {
		t.Errorf("got %d %q, want 410", w.status, w.body)
	}
}

type recorder struct {
	header http.Header
	status int
	body   string
}

func newRecorder() *recorder                        { return &recorder{header: http.Header{}} }
func (r *recorder) Header() http.Header             { return r.header }
func (r *recorder) WriteHeader(status int)          { r.status = status }
func (r *recorder) Write(p []byte) (n int, _ error) { r.body += string(p); return len(p), nil }

func TestLogin_AcceptsThePastedAddress(t *testing.T) {
	s := startServer(t)
	a := s.account()
	lines, notes := make(chan string, 4), []string{}
	_, err := a.Login(t.Context(), Login{
		Pasted: lines,
		Note:   func(text string) { notes = append(notes, text) },
		Open: func(address string) error {
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := client.Get(address)
			if err != nil {
				return err
			}
			resp.Body.Close()
			last := resp.Header.Get("Location")
			lines <- "yes"
			lines <- strings.Replace(last, "state=", "state=x", 1)
			lines <- ""
			lines <- " " + last + "\n"
			close(lines)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "it begins with http://127.0.0.1:") || !strings.Contains(notes[1], "another sign-in") {
		t.Errorf("the notes are %q", notes)
	}
	if got := content(t, a); got.AccessToken != s.access {
		t.Errorf("saved %+v", got)
	}
}

func TestLogin_StopsWaiting(t *testing.T) {
	s := startServer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := s.account().Login(ctx, Login{Open: func(string) error { cancel(errors.New("time is up")); return nil }})
	if llm.KindOf(err) != llm.ErrTimeout || !strings.Contains(err.Error(), "no answer from the browser: time is up") {
		t.Errorf("got %v", err)
	}
	refused := errors.New("no browser")
	if _, err := s.account().Login(t.Context(), Login{Open: func(string) error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("got %v, want the opener's error", err)
	}
}

func TestLogout_RevokesAndKeepsTheRegistration(t *testing.T) {
	s := startServer(t)
	a := s.account()
	if had, _, err := a.Logout(t.Context()); had || err != nil {
		t.Errorf("before the sign-in: %v, %v", had, err)
	}
	signIn(t, a)
	before := content(t, a)
	had, revoked, err := a.Logout(t.Context())
	if !had || !revoked || err != nil || s.refresh != "" {
		t.Errorf("got %v, %v, %v", had, revoked, err)
	}
	after := content(t, a)
	if after.AccessToken != "" || after.RefreshToken != "" || after.ClientID != before.ClientID || after.HostID != before.HostID {
		t.Errorf("saved %+v", after)
	}
	if _, err := a.Token(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "not signed in") {
		t.Errorf("got %v", err)
	}
	signIn(t, a)
	if got := s.seen[1].Get("client_id"); got != "oaiapp_1" {
		t.Errorf("signs in again as %s, want oaiapp_1", got)
	}
	s.Close()
	if had, revoked, err := a.Logout(t.Context()); !had || revoked || err != nil {
		t.Errorf("without the server: %v, %v, %v", had, revoked, err)
	}
	if got := content(t, a); got.RefreshToken != "" {
		t.Error("without the server, the tokens are kept")
	}
}

func TestLoad_RefusesForeignFilesAndOtherVersions(t *testing.T) {
	s := startServer(t)
	for name, c := range map[string]struct {
		spoil func(*testing.T, *Account)
		want  string
	}{
		"readable": {func(t *testing.T, a *Account) { chmod(t, a.file(), 0o640) }, "has the permissions 0640"},
		"others":   {func(t *testing.T, a *Account) { chmod(t, a.file(), 0o604) }, "has the permissions 0604"},
		"dir":      {func(t *testing.T, a *Account) { chmod(t, a.Dir, 0o770) }, "has the permissions 0770"},
		"owner":    {chown, "belongs to another user (uid 12345)"},
		"version":  {func(t *testing.T, a *Account) { write(t, a, `{"version":2,"access_token":"access-secret-9"}`) }, "has version 2, but this program reads version 1"},
		"damaged":  {func(t *testing.T, a *Account) { write(t, a, `{"access_token":"access-secret-9`) }, "is damaged; delete it"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(c.want, "permissions") {
				t.Skip("Windows has no permission bits")
			}
			a := s.account()
			signIn(t, a)
			c.spoil(t, a)
			before, _ := os.ReadFile(a.file())
			_, terr := a.Token(t.Context(), "")
			_, serr := a.Status()
			_, _, oerr := a.Logout(t.Context())
			_, lerr := a.Login(t.Context(), Login{Open: func(string) error { t.Error("the browser was opened"); return nil }})
			for _, err := range []error{terr, serr, oerr, lerr} {
				if err == nil || !strings.Contains(err.Error(), c.want) || llm.KindOf(err) != llm.ErrConfiguration {
					t.Errorf("got %v, want %q", err, c.want)
					continue
				}
				noSecrets(t, err.Error())
			}
			if after, _ := os.ReadFile(a.file()); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func chmod(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) == "" {
		t.Cleanup(func() { _ = os.Chmod(name, 0o700) })
	}
}

// chown gives the file to another user. Only root can do that.
func chown(t *testing.T, a *Account) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	if err := os.Chown(a.file(), 12345, -1); err != nil {
		t.Skip(err)
	}
}

func write(t *testing.T, a *Account, text string) {
	t.Helper()
	if err := os.WriteFile(a.file(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
