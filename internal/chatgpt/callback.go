package chatgpt

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/llm"
)

const callbackPath = "/auth/callback"

// grant is the data in the redirect to this machine.
type grant struct{ code, client string }

// errDenied is a sign-in that the user refused.
var errDenied = errors.New("the sign-in was refused in the browser")

// callback is the page to which the browser is redirected. It accepts one redirect.
type callback struct {
	address string // host and port
	state   string
	issuer  string

	used atomic.Bool
	got  chan answer   // has room for one
	said chan struct{} // closed when outcome is set
	// outcome is the result that the page reports.
	outcome error
}

type answer struct {
	grant grant
	err   error
}

// errNotOurs is a request that is not the redirect for this sign-in.
var errNotOurs = errors.New("this is not the answer to the sign-in of Reins")

// serve answers requests until the listener is closed.
func (c *callback) serve(l net.Listener) *http.Server {
	srv := &http.Server{
		Handler:           c,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	go func() { _ = srv.Serve(l) }()
	return srv
}

// ServeHTTP accepts only the redirect. Any page in the browser can send requests to this machine, and a page of another
// name can resolve to it, so the host, the method, the path and the state must be right.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	mode := r.Header.Get("Sec-Fetch-Mode")
	switch {
	case r.Host != c.address || mode != "" && mode != "navigate":
		page(w, http.StatusForbidden, "This request is not allowed.")
		return
	case r.URL.Path != callbackPath:
		page(w, http.StatusNotFound, "There is no such page.")
		return
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		page(w, http.StatusMethodNotAllowed, "This request is not allowed.")
		return
	}
	g, err := c.read(r.URL.Query())
	if errors.Is(err, errNotOurs) {
		page(w, http.StatusBadRequest, "This is not the answer to the sign-in of Reins.")
		return
	}
	if !c.accept(answer{g, err}) {
		page(w, http.StatusGone, "This sign-in was already completed.")
		return
	}
	select {
	case <-c.said:
	case <-r.Context().Done():
		return
	}
	if c.outcome != nil {
		page(w, http.StatusOK, "Reins is not signed in: "+reason(c.outcome)+". You can close this page.")
		return
	}
	page(w, http.StatusOK, "Reins is signed in with ChatGPT. You can close this page.")
}

// accept delivers the first answer, and reports whether this was it.
func (c *callback) accept(a answer) bool {
	if !c.used.CompareAndSwap(false, true) {
		return false
	}
	c.got <- a
	return true
}

// report sets the result that the page reports.
func (c *callback) report(err error) {
	c.outcome = err
	close(c.said)
}

// read reads the redirect parameters.
func (c *callback) read(q url.Values) (g grant, err error) {
	for _, values := range q {
		if len(values) > 1 {
			return g, errNotOurs
		}
	}
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1 {
		return g, errNotOurs
	}
	if iss := q.Get("iss"); iss != "" && strings.TrimRight(iss, "/") != strings.TrimRight(c.issuer, "/") {
		return g, errNotOurs
	}
	switch code := q.Get("error"); {
	case code == "access_denied":
		return g, errDenied
	case code != "":
		return g, fmt.Errorf("OpenAI refused the sign-in (%s)", plainCode(code))
	case q.Get("code") == "":
		return g, errors.New("the redirect has no code")
	}
	return grant{q.Get("code"), q.Get("client_id")}, nil
}

// paste reads the redirect address, which the user copied from a browser on another machine.
func (c *callback) paste(text string) error {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" || u.Host != c.address || u.Path != callbackPath {
		return fmt.Errorf("this is not the address of the last page; it begins with http://%s%s", c.address, callbackPath)
	}
	g, err := c.read(u.Query())
	if errors.Is(err, errNotOurs) {
		return errors.New("this address is from another sign-in; copy the address of the last page")
	}
	c.accept(answer{g, err})
	return nil
}

// reason returns an error's message without its kind.
func reason(err error) string {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

func page(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><meta charset=utf-8><title>Reins</title><p>"+html.EscapeString(text)+"</p>\n")
}
