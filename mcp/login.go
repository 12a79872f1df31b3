package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/filelock"
)

// Grants stores authorizations in Dir: an access token for each server, and the data needed to refresh it. Only the
// user can read the files.
type Grants struct {
	Dir        string
	HTTPClient *http.Client // default: http.DefaultClient
}

// grant is the authorization for one server.
type grant struct {
	URL    string        `json:"url"`
	Client oauth2.Config `json:"client"`
	Token  *oauth2.Token `json:"token"`
}

// refreshBefore is how long before its expiry a token is refreshed.
const refreshBefore = time.Minute

// Login asks the user to authorize access to a server. It calls open with the URL to visit, and waits until the browser
// is redirected back to this machine. The server's metadata may refer to the server's own host, and to https URLs at
// public addresses; other URLs are refused.
func (g *Grants) Login(ctx context.Context, s Server, open func(url string) error) error {
	if s.URL == "" {
		return errors.New("only a server with a URL can be authorized")
	}
	client, bounds, err := within(g.client(), s.URL)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	back := "http://" + l.Addr().String() + "/callback"
	var saved grant
	h, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName:   "Reins",
			RedirectURIs: []string{back},
			GrantTypes:   []string{"authorization_code", "refresh_token"},

			ResponseTypes:           []string{"code"},
			TokenEndpointAuthMethod: "none",
		}},

		RedirectURL:         back,
		RequestRefreshToken: true,
		Client:              client,

		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(args.URL)
			if err == nil {
				err = bounds.check(u)
			}
			if err != nil {
				return nil, err
			}
			wait := callback(l, args.URL)
			if err := open(args.URL); err != nil {
				return nil, err
			}
			return wait(ctx)
		},

		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			saved = grant{URL: s.URL, Client: *c, Token: t}
			return c.TokenSource(ctx, t), nil
		},
	})
	if err != nil {
		return err
	}
	req, resp, err := g.challenge(ctx, s)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusUnauthorized {
		resp.Body.Close()
		return errors.New("the server does not ask for authorization")
	}
	err = h.Authorize(ctx, req, resp)
	if refused := bounds.refused.Load(); refused != nil {
		return *refused
	}
	if err != nil {
		return err
	}
	unlock, err := g.lock(ctx, s.URL)
	if err != nil {
		return err
	}
	defer unlock()
	return g.save(saved)
}

// challenge returns the server's response to a request without a token.
func (g *Grants) challenge(ctx context.Context, s Server) (*http.Request, *http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(hello))
	if err != nil {
		return nil, nil, reason(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := g.client().Do(req)
	return req, resp, reason(err)
}

func (g *Grants) client() *http.Client {
	if g.HTTPClient != nil {
		return g.HTTPClient
	}
	return http.DefaultClient
}

// callback serves the page to which the browser is redirected from a URL. The returned function waits for the redirect
// and returns its result. Requests without the URL's state parameter are refused: they come from other pages.
func callback(l net.Listener, from string) func(ctx context.Context) (*auth.AuthorizationResult, error) {
	type answer struct {
		result *auth.AuthorizationResult
		err    error
	}
	state := ""
	if u, err := url.Parse(from); err == nil {
		state = u.Query().Get("state")
	}
	got := make(chan answer, 1)
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/callback" {
			http.NotFound(w, r)
			return
		}
		q := r.URL.Query()
		if state == "" || q.Get("state") != state {
			http.Error(w, "this is not the response to an authorization request of Reins", http.StatusBadRequest)
			return
		}
		a := answer{result: &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}}
		text := "Reins is authorized. You can close this page."
		if q.Get("code") == "" {
			a.err = fmt.Errorf("the authorization was refused: %s", clip(strings.TrimSpace(q.Get("error")+" "+q.Get("error_description"))))
			text = "Reins is not authorized. You can close this page."
		}
		select {
		case got <- a:
		default:
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return func(ctx context.Context) (*auth.AuthorizationResult, error) {
		defer func() {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = srv.Shutdown(last)
		}()
		select {
		case a := <-got:
			return a.result, a.err
		case err := <-done:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the authorization: %w", context.Cause(ctx))
		}
	}
}

// Logout deletes the authorization for a server, and reports whether there was one.
func (g *Grants) Logout(s Server) (bool, error) {
	unlock, err := g.lock(context.Background(), s.URL)
	if err != nil {
		return false, err
	}
	defer unlock()
	err = os.Remove(g.file(s.URL))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Token returns the Token function for a Config with these servers. It refreshes tokens before they expire and when a
// server refuses them, and never waits for the user. Only one process at a time refreshes a token and the others use
// the result, because a server may accept a refresh token only once.
func (g *Grants) Token(servers map[string]Server) func(ctx context.Context, server, refused string) (string, error) {
	return func(ctx context.Context, server, refused string) (string, error) {
		saved, err := g.load(servers[server].URL)
		if err != nil || !saved.stale(refused) {
			return saved.access(refused), err
		}
		unlock, err := g.lock(ctx, saved.URL)
		if err != nil {
			return "", err
		}
		defer unlock()
		if saved, err = g.load(saved.URL); err != nil || !saved.stale(refused) {
			return saved.access(refused), err
		}
		client, _, err := within(g.client(), saved.URL)
		if err != nil {
			return "", err
		}
		ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
		next, err := saved.Client.TokenSource(ctx, &oauth2.Token{RefreshToken: saved.Token.RefreshToken}).Token()
		if err != nil {
			return "", nil // the user must authorize it again
		}
		saved.Token = next
		return next.AccessToken, g.save(saved)
	}
}

// stale reports whether the access token can and must be refreshed.
func (g grant) stale(refused string) bool {
	t := g.Token
	return t != nil && t.RefreshToken != "" && (t.AccessToken == refused || !t.Expiry.IsZero() && time.Until(t.Expiry) <= refreshBefore)
}

// access returns the access token, or "" if it is missing or is the refused token.
func (g grant) access(refused string) string {
	if g.Token == nil || g.Token.AccessToken == refused {
		return ""
	}
	return g.Token.AccessToken
}

// lockTime limits the wait for another process that refreshes a token.
const lockTime = 30 * time.Second

// lock locks a URL's grant.
func (g *Grants) lock(ctx context.Context, url string) (unlock func() error, err error) {
	if err := os.MkdirAll(g.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(strings.TrimSuffix(g.file(url), ".json")+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another process is changing the authorization; try again"))
	defer cancel()
	if err := filelock.Wait(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// file returns the grant file for a URL.
func (g *Grants) file(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(g.Dir, hex.EncodeToString(sum[:16])+".json")
}

func (g *Grants) load(url string) (saved grant, err error) {
	data, err := os.ReadFile(g.file(url))
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &saved)
	}
	if err == nil && saved.URL != url {
		err = fmt.Errorf("%s is for another server", g.file(url))
	}
	return saved, err
}

func (g *Grants) save(saved grant) error {
	data, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return atomicfile.Write(g.file(saved.URL), data, 0o600)
}
