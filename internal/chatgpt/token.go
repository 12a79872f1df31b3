package chatgpt

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/reins-agent/reins/llm"
)

const (
	// refreshBefore is how long before its expiry an access token is refreshed.
	refreshBefore = 5 * time.Minute
	// refreshLife is how long a refresh token is valid.
	refreshLife = 30 * 24 * time.Hour
)

// Token returns an access token that is not the refused one, and refreshes it if necessary. "" refuses none.
func (a *Account) Token(ctx context.Context, refused string) (string, error) {
	s, err := a.load()
	if err != nil {
		return "", err
	}
	if !s.due(a.time(), refused) {
		return s.access(a.time(), refused)
	}
	unlock, err := a.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if s, err = a.load(); err != nil { // another process may have refreshed it
		return "", err
	}
	if !s.due(a.time(), refused) {
		return s.access(a.time(), refused)
	}
	if err := a.refresh(ctx, &s); err != nil {
		if token, still := s.access(a.time(), refused); still == nil {
			return token, nil // it expires soon, but not yet
		}
		return "", err
	}
	return s.AccessToken, nil
}

// due reports whether the tokens can and must be refreshed. OpenAI refuses a refresh that is too early, and then does not
// accept the refresh token again.
func (s saved) due(now time.Time, refused string) bool {
	if !s.signedIn() || s.RefreshToken == "" || !now.Before(s.RefreshUntil) {
		return false
	}
	expired := !now.Before(s.Expires)
	allowed := s.RefreshFrom.IsZero() || !now.Before(s.RefreshFrom)
	return expired || allowed && (s.AccessToken == refused || s.Expires.Sub(now) <= refreshBefore)
}

// access returns the access token, or why none is available.
func (s saved) access(now time.Time, refused string) (string, error) {
	switch {
	case s.AccessToken == "":
		return "", signInAgain("you are not signed in with ChatGPT; " + again)
	case !s.signedIn():
		return "", signInAgain("you did not allow Reins to use your ChatGPT plan; " + again + " and allow it")
	case s.AccessToken == refused && now.Before(s.RefreshFrom):
		return "", signInAgain("OpenAI refused the ChatGPT sign-in; try again, or " + again)
	case s.AccessToken == refused:
		return "", signInAgain("OpenAI refused the ChatGPT sign-in; " + again + " again")
	case !now.Before(s.Expires):
		return "", signInAgain("the ChatGPT sign-in has expired; " + again + " again")
	}
	return s.AccessToken, nil
}

// refresh replaces the tokens and saves them. The file is locked. The request is not cancelled with ctx: its answer has
// the only refresh token that is valid afterwards.
func (a *Account) refresh(ctx context.Context, s *saved) error {
	if err := a.save(*s); err != nil { // do not spend the refresh token if the new one cannot be saved
		return err
	}
	t, err := a.exchange(context.WithoutCancel(ctx), url.Values{
		"grant_type":    {"refresh_token"},
		"client_id":     {s.ClientID},
		"refresh_token": {s.RefreshToken},
		"resource":      {a.Service.withDefaults().Resource},
	})
	var r *refusal
	switch {
	case errors.As(err, &r) && r.final():
		s.RefreshToken = ""
		if err := a.save(*s); err != nil {
			return err
		}
		return signInAgain("OpenAI did not renew the ChatGPT sign-in (" + r.code + "); " + again + " again")
	case errors.As(err, &r):
		return llm.Errorf(llm.ErrServer, "", "OpenAI could not renew the ChatGPT sign-in (%w); try again later", err)
	case err != nil:
		return llm.Errorf(llm.ErrNetwork, "", "cannot renew the ChatGPT sign-in: %w", err)
	}
	s.take(t, a.time())
	return a.save(*s)
}

// take replaces the tokens.
func (s *saved) take(t tokens, now time.Time) {
	s.AccessToken = t.AccessToken
	s.Expires = t.Expires
	s.RefreshFrom = t.RefreshFrom
	if t.RefreshToken != "" {
		s.RefreshToken, s.RefreshUntil = t.RefreshToken, now.Add(refreshLife)
	}
	if t.Scopes != nil {
		s.Scopes = t.Scopes
	}
}

func signInAgain(message string) *llm.Error {
	return &llm.Error{Kind: llm.ErrAuthentication, Message: message, Final: true}
}

// Status describes the sign-in.
type Status struct {
	SignedIn bool
	Email    string    // account address, if known
	Until    time.Time // when the sign-in ends if it is not used until then
	File     string
}

// Status reads the sign-in from the file. It sends nothing.
func (a *Account) Status() (Status, error) {
	s, err := a.load()
	if err != nil {
		return Status{}, err
	}
	until := s.Expires
	if s.RefreshToken != "" {
		until = s.RefreshUntil
	}
	return Status{SignedIn: s.signedIn() && a.time().Before(until), Email: s.Email, Until: until, File: a.file()}, nil
}

// Logout deletes the tokens and revokes them. It keeps the registration for a later sign-in. Had reports whether there
// were tokens, and revoked whether OpenAI confirmed that they are invalid.
func (a *Account) Logout(ctx context.Context) (had, revoked bool, err error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return false, false, err
	}
	defer unlock()
	s, err := a.load()
	if err != nil || s.AccessToken == "" && s.RefreshToken == "" {
		return false, false, err
	}
	if err := a.save(s.signedOut()); err != nil {
		return true, false, err
	}
	return true, a.revoke(ctx, s), nil
}

// revoke makes the tokens invalid, and reports whether OpenAI confirmed it.
func (a *Account) revoke(ctx context.Context, s saved) bool {
	d, err := a.discover(ctx)
	if err != nil || s.RefreshToken == "" || !d.trusts(d.RevocationEndpoint) {
		return false
	}
	status, _, _, err := a.post(ctx, d.RevocationEndpoint, url.Values{
		"token":           {s.RefreshToken},
		"token_type_hint": {"refresh_token"},
		"client_id":       {s.ClientID},
	})
	return err == nil && status == 200
}
