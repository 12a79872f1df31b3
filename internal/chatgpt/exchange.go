package chatgpt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm"
)

// tokens is the token endpoint's answer.
type tokens struct {
	AccessToken  string
	RefreshToken string
	IDToken      string
	Scopes       []string // nil if the answer has none
	Expires      time.Time
	RefreshFrom  time.Time
}

// refusal is an error that the token endpoint reports. It has no text from the server, which may repeat secrets.
type refusal struct {
	status int
	code   string
}

func (r *refusal) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", r.status, r.code), ": ")
}

// final reports whether the same request cannot succeed later.
func (r *refusal) final() bool {
	return slices.Contains([]string{
		"invalid_grant", "invalid_refresh_token", "token_expired", "refresh_token_expired", "refresh_token_invalidated",
		"refresh_token_reused", "invalid_client", "unauthorized_client",
	}, r.code)
}

// exchangeTime limits one request for tokens.
const exchangeTime = 30 * time.Second

// exchange requests tokens.
func (a *Account) exchange(ctx context.Context, form url.Values) (t tokens, err error) {
	status, date, body, err := a.post(ctx, a.Service.withDefaults().TokenURL, form)
	if err != nil {
		return t, err
	}
	if status != http.StatusOK {
		return t, &refusal{status, errorCode(body)}
	}
	var answer struct {
		AccessToken       string          `json:"access_token"`
		RefreshToken      string          `json:"refresh_token"`
		IDToken           string          `json:"id_token"`
		TokenType         string          `json:"token_type"`
		ExpiresIn         float64         `json:"expires_in"`
		Scope             *string         `json:"scope"`
		EarliestRefreshAt json.RawMessage `json:"earliest_refresh_at"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.AccessToken == "" {
		return t, errors.New("the answer of the token endpoint has no access token")
	}
	if answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "Bearer") {
		return t, errors.New("the answer of the token endpoint is not a bearer token")
	}
	t = tokens{AccessToken: answer.AccessToken, RefreshToken: answer.RefreshToken, IDToken: answer.IDToken}
	if answer.Scope != nil {
		t.Scopes = append([]string{}, strings.Fields(*answer.Scope)...)
	}
	valid := time.Duration(min(cmp.Or(answer.ExpiresIn, 3600), 1e6) * float64(time.Second))
	now := a.time()
	t.Expires = now.Add(valid)
	if at := instant(answer.EarliestRefreshAt); !at.IsZero() {
		// The clocks of both sides may differ, so only the time between refresh and expiry matters.
		if date.IsZero() {
			date = now
		}
		t.RefreshFrom = t.Expires.Add(-max(date.Add(valid).Sub(at), 0))
	}
	return t, nil
}

// post sends a form. It returns the server time if the answer has it.
func (a *Account) post(ctx context.Context, address string, form url.Values) (status int, date time.Time, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, date, nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "reins")
	resp, err := a.client().Do(req)
	if err != nil {
		return 0, date, nil, unreachable(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20)); err != nil {
		return 0, date, nil, unreachable(err)
	}
	date, _ = http.ParseTime(resp.Header.Get("Date"))
	return resp.StatusCode, date, body, nil
}

// get reads a public JSON document.
func (a *Account) get(ctx context.Context, address string, to any) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := a.client().Do(req)
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers HTTP %d", address, resp.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(to)
}

// unreachable returns the error for a request without an answer.
func unreachable(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		host := ""
		if u, perr := url.Parse(ue.URL); perr == nil {
			host = u.Host
		}
		return llm.Errorf(llm.ErrNetwork, "", "the call to %s failed: %w", host, ue.Err)
	}
	return llm.Errorf(llm.ErrNetwork, "", "%w", err)
}

// errorCode returns the error code in a body: {"error":"…"} or {"error":{"code":"…"}}. Anything else is not a code.
func errorCode(body []byte) string {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var code string
	if json.Unmarshal(answer.Error, &code) != nil {
		var object struct {
			Code string `json:"code"`
		}
		_ = json.Unmarshal(answer.Error, &object)
		code = object.Code
	}
	return plainCode(code)
}

// plainCode returns a code that has the form of one, or "".
func plainCode(code string) string {
	strange := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	if len(code) > 64 || strings.ContainsFunc(code, strange) {
		return ""
	}
	return code
}

// instant reads a time: seconds or milliseconds since 1970, or RFC 3339. It returns a zero time for anything else.
func instant(v json.RawMessage) (t time.Time) {
	var n float64
	if json.Unmarshal(v, &n) == nil && n > 0 && n < 1e14 {
		if n > 1e11 {
			n /= 1000
		}
		return time.Unix(int64(n), 0)
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		t, _ = time.Parse(time.RFC3339, text)
	}
	return t
}
