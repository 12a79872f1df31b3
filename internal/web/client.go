package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/reins-agent/reins/tool"
)

// parse parses a page's URL. It converts the host to the form that DNS and policy rules use.
func parse(text string) (*url.URL, error) {
	invalid := func(why string) error {
		return tool.Errorf(tool.ValidationError, "Invalid URL: %s. Pass a URL such as https://example.com/page.", why)
	}
	if len(text) > maxURL {
		return nil, invalid(fmt.Sprintf("it is longer than %d bytes", maxURL))
	}
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, invalid("it cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, invalid(fmt.Sprintf("the scheme is %q, not http or https", u.Scheme))
	case u.User != nil:
		return nil, invalid("it contains credentials")
	case u.Hostname() == "":
		return nil, invalid("it has no host")
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err != nil {
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return nil, invalid("the host name is invalid")
		}
	}
	u.Host, u.Fragment = join(host, u.Port()), ""
	return u, nil
}

// join joins a host and a port, which may be "".
func join(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		return host
	}
	return host + ":" + port
}

// errMoved is returned for a redirect that is not followed.
type errMoved struct{ to string }

func (e *errMoved) Error() string { return "redirect to " + e.to }

// redirect follows redirects that stay on the same host and do not leave https. Other redirects need a separate
// approval.
func redirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	to, err := parse(r.URL.String())
	if err != nil {
		return errors.New("it redirects to an invalid URL")
	}
	from := via[len(via)-1].URL
	upgraded := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	if to.Hostname() != from.Hostname() || !upgraded && (to.Scheme != from.Scheme || to.Port() != from.Port()) {
		return &errMoved{to.String()}
	}
	r.URL = to
	return nil
}

// page is a server's response.
type page struct {
	url    *url.URL // after redirects
	status int
	header http.Header
	body   []byte
	moved  string // redirect target that was not followed
}

// get fetches a page within the limits.
func (c Config) get(ctx context.Context, u *url.URL) (page, error) {
	if a, err := netip.ParseAddr(u.Hostname()); err == nil { // control does not see the address if a proxy is used
		if err := c.check(a); err != nil {
			return page{}, failed(err, u.Host)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return page{}, err
	}
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5")
	resp, err := c.client().Do(r)
	var moved *errMoved
	if errors.As(err, &moved) {
		return page{url: u, moved: moved.to}, nil
	}
	if err != nil {
		return page{}, failed(err, u.Host)
	}
	defer resp.Body.Close()
	p := page{url: resp.Request.URL, status: resp.StatusCode, header: resp.Header}
	if p.body, err = read(resp, maxBody, "Fetch a smaller page, or download it with a command."); err != nil {
		return page{}, failed(err, u.Host)
	}
	return p, nil
}

// read reads a body of at most limit bytes, after decompression. The error for a larger one ends with hint.
func read(resp *http.Response, limit int64, hint string) ([]byte, error) {
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, tool.Errorf(tool.UnsupportedMedia, "The server sent the encoding %q, which cannot be read.", e)
	}
	if resp.ContentLength > limit {
		return nil, tooLarge(limit, hint)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(b)) > limit {
		return nil, tooLarge(limit, hint)
	}
	return b, err
}

func tooLarge(limit int64, hint string) error {
	size := fmt.Sprintf("%d KiB", limit>>10)
	if limit >= 1<<20 {
		size = fmt.Sprintf("%d MiB", limit>>20)
	}
	return tool.Errorf(tool.TooLarge, "The response is larger than %s. %s", size, hint)
}

// failed returns the tool error for a failed request.
func failed(err error, host string) error {
	var known *tool.Error
	var refused *errRefused
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return tool.Errorf(
			tool.PermissionDenied,
			"The connection to %s was refused: %v. Only public addresses are allowed.", host, refused.error,
		)
	case errors.Is(err, context.Canceled):
		return tool.Errorf(tool.Cancelled, "Interrupted: %v", context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return tool.Errorf(tool.IOError, "%s did not answer in full within the time limit. Try again later, or use another page.", host)
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return tool.Errorf(tool.IOError, "%s cannot be fetched: %v.", host, err)
}
