package chatgpt

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm"
)

// Login is one sign-in.
type Login struct {
	// Open shows the user the URL to visit, and may open it in a browser.
	Open func(url string) error
	// Pasted receives lines from the user, for a browser that cannot reach this machine: the address to which it was
	// redirected. May be nil.
	Pasted <-chan string
	// Note tells the user why a pasted line was refused. May be nil.
	Note func(text string)
	// New registers the program again, for another account or workspace.
	New bool
}

// attempt holds the values of one sign-in.
type attempt struct {
	back                   string // the redirect URI
	state, nonce, verifier string
}

// Login asks the user to sign in, waits until the browser is redirected to this machine or ctx ends, and saves the tokens.
// An existing sign-in is kept if it fails.
func (a *Account) Login(ctx context.Context, o Login) (Status, error) {
	before, err := a.prepare(ctx)
	if err != nil {
		return Status{}, err
	}
	if o.New {
		before = saved{HostID: before.HostID}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return Status{}, llm.Errorf(llm.ErrConfiguration, "", "cannot wait for the browser: %w", err)
	}
	address := l.Addr().String()
	try := attempt{"http://" + address + callbackPath, rand.Text(), rand.Text(), random()}
	page := &callback{
		address: address,
		state:   try.state,
		issuer:  a.Service.withDefaults().Issuer,
		got:     make(chan answer, 1),
		said:    make(chan struct{}),
	}
	srv := page.serve(l)
	err = a.complete(ctx, o, page, try, before)
	page.report(err)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(last) != nil {
		_ = srv.Close()
	}
	if err != nil {
		return Status{}, err
	}
	return a.Status()
}

// prepare returns the file's content, with an identity for this machine.
func (a *Account) prepare(ctx context.Context) (saved, error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return saved{}, err
	}
	defer unlock()
	s, err := a.load()
	if err != nil || s.HostID != "" {
		return s, err
	}
	s.HostID = "urn:uuid:" + uuid()
	return s, a.save(s)
}

// complete waits for the redirect, exchanges its code and saves the result.
func (a *Account) complete(ctx context.Context, o Login, page *callback, try attempt, before saved) error {
	if err := o.Open(a.authorizeURL(try, before)); err != nil {
		return err
	}
	got, err := page.wait(ctx, o)
	if err != nil {
		return err
	}
	after, err := a.redeem(ctx, got, try, before)
	if err != nil {
		return err
	}
	unlock, err := a.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.save(after); err != nil {
		return err
	}
	if !after.signedIn() {
		return signInAgain("you did not allow Reins to use your ChatGPT plan; " + again + " again and allow it")
	}
	return nil
}

// authorizeURL returns the URL to visit. A known registration is used again.
func (a *Account) authorizeURL(try attempt, before saved) string {
	s := a.Service.withDefaults()
	challenge := sha256.Sum256([]byte(try.verifier))
	q := url.Values{
		"response_type":         {"code"},
		"client_id":             {newClient},
		"redirect_uri":          {try.back},
		"scope":                 {scopes},
		"resource":              {s.Resource},
		"state":                 {try.state},
		"nonce":                 {try.nonce},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(challenge[:])},
		"code_challenge_method": {"S256"},
		"ext_agent_host_id":     {before.HostID},
	}
	if before.ClientID == "" {
		q.Set("agent_name_hint", "Reins")
	} else {
		q.Set("client_id", before.ClientID)
		if before.Email != "" {
			q.Set("login_hint", before.Email)
		}
		if !slices.Contains(before.Scopes, planScope) {
			q.Set("prompt", "consent")
		}
	}
	return s.AuthorizeURL + "?" + q.Encode()
}

// wait returns the grant that the browser or the user delivers.
func (c *callback) wait(ctx context.Context, o Login) (grant, error) {
	for {
		select {
		case a := <-c.got:
			if a.err != nil {
				return grant{}, llm.Errorf(llm.ErrAuthentication, "", "%w", a.err)
			}
			return a.grant, nil
		case text, ok := <-o.Pasted:
			if !ok {
				o.Pasted = nil
			} else if err := c.paste(text); err != nil && strings.TrimSpace(text) != "" && o.Note != nil {
				o.Note(err.Error())
			}
		case <-ctx.Done():
			return grant{}, llm.Errorf(llm.ErrTimeout, "", "no answer from the browser: %w", context.Cause(ctx))
		}
	}
}

// redeem exchanges a code for tokens and verifies whose they are.
func (a *Account) redeem(ctx context.Context, g grant, try attempt, before saved) (after saved, err error) {
	if g.client == "" {
		g.client = before.ClientID
	}
	switch {
	case g.client == "" || g.client == newClient:
		return after, signInAgain("OpenAI did not register Reins with the account; " + again + " again")
	case before.ClientID != "" && g.client != before.ClientID:
		return after, signInAgain("OpenAI answered for another registration of Reins; run `reins login chatgpt --new`")
	}
	t, err := a.exchange(ctx, url.Values{
		"grant_type":    {"authorization_code"},
		"client_id":     {g.client},
		"code":          {g.code},
		"code_verifier": {try.verifier},
		"redirect_uri":  {try.back},
		"resource":      {a.Service.withDefaults().Resource},
	})
	var r *refusal
	switch {
	case errors.As(err, &r):
		return after, llm.Errorf(llm.ErrAuthentication, "", "OpenAI refused the sign-in (%w); %s again", r, again)
	case err != nil:
		return after, fmt.Errorf("cannot complete the sign-in: %w", err)
	}
	who, err := a.identity(ctx, t.IDToken, g.client, try.nonce)
	if err != nil {
		return after, llm.Errorf(llm.ErrAuthentication, "", "cannot verify the sign-in: %w", err)
	}
	if before.Subject != "" && who.Subject != before.Subject {
		return after, signInAgain("this is another ChatGPT account than before; to use it, run `reins login chatgpt --new`")
	}
	after = saved{
		HostID:   before.HostID,
		ClientID: g.client,
		Subject:  who.Subject,
		Email:    who.Email,
		Scopes:   []string{},
	}
	after.take(t, a.time())
	if !after.signedIn() {
		after = after.signedOut()
	}
	return after, nil
}

// random returns a PKCE verifier.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// uuid returns a random UUID.
func uuid() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
