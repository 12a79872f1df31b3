package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Search configures a search engine. The host chooses its address, so it may be private.
type Search struct {
	Backend string // "searxng" or "brave"; "" means none
	URL     string // SearXNG instance; for brave, overrides the API URL
	Key     string // Brave API key
}

// Limits for a search.
const (
	maxAnswer    = 2 << 20 // response bytes
	maxResults   = 20
	maxTitle     = 200 // characters
	maxSnippet   = 500
	maxQuery     = 400
	braveAddress = "https://api.search.brave.com/res/v1/web/search"
)

// engine is a search engine that is ready for use.
type engine struct {
	url     *url.URL
	header  http.Header
	results func(answer []byte) ([]hit, error)
	count   string // the parameter for the number of results, or ""
}

// hit is a search result.
type hit struct {
	Title, URL, Content string
	Description         string // the content in responses of Brave
}

// engine returns the search engine, or an error if it cannot be used.
func (s Search) engine() (engine, error) {
	e := engine{header: http.Header{"User-Agent": {userAgent}, "Accept": {"application/json"}}}
	address := s.URL
	switch s.Backend {
	case "searxng":
		if address == "" {
			return e, errors.New("the searxng search backend needs the URL of an instance")
		}
		e.results = searxngResults
	case "brave":
		if s.Key == "" {
			return e, errors.New("the brave search backend needs an API key")
		}
		if address == "" {
			address = braveAddress
		}
		e.header.Set("X-Subscription-Token", s.Key)
		e.results, e.count = braveResults, "count"
	default:
		return e, fmt.Errorf("unknown search backend %q: use searxng or brave", s.Backend)
	}
	var err error
	if e.url, err = parse(address); err != nil {
		return e, fmt.Errorf("the URL of the search backend: %w", err)
	}
	if s.Backend == "searxng" {
		e.url = e.url.JoinPath("search")
		e.url.RawQuery = "format=json"
	} else if e.url.Scheme != "https" && !loopback(e.url.Hostname()) {
		return e, errors.New("the URL of the search backend must use https, because the API key is sent to it")
	}
	return e, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

type searchIn struct {
	Query   string   `json:"query" jsonschema:"what to search for"`
	Limit   int      `json:"limit,omitempty" jsonschema:"maximum number of results (default 10, at most 20)"`
	Allowed []string `json:"allowed_domains,omitempty" jsonschema:"only results from these domains"`
	Blocked []string `json:"blocked_domains,omitempty" jsonschema:"no results from these domains"`
}

func (e engine) tool(limit time.Duration) tool.Tool {
	return tool.New(tool.Spec{
		Name:        "web_search",
		Version:     "1.0.0",
		Description: "Search the web. Returns titles, URLs and snippets.",

		Permissions: []tool.Permission{tool.NetConnect},
		ReadOnly:    true,
		Idempotent:  true,
		OpenWorld:   true,

		Limit: tool.Limit{Chars: 20_000, Lines: -1, Mode: tool.Head},
	}, func(context.Context, *tool.Call, searchIn) []policy.Access { return connects(e.url) },
		func(ctx context.Context, _ *tool.Call, in searchIn) (tool.Result, error) {
			if q := strings.TrimSpace(in.Query); q == "" || len([]rune(q)) > maxQuery || in.Limit < 0 {
				return tool.Failure(
					tool.ValidationError,
					"query must have 1 to %d characters, and limit must not be negative.", maxQuery,
				), nil
			}
			limited, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			hits, err := e.search(limited, in)
			if err != nil {
				return tool.Result{}, failed(err, e.url.Host)
			}
			return list(hits), nil
		})
}

// search queries the search engine.
func (e engine) search(ctx context.Context, in searchIn) ([]hit, error) {
	if in.Limit == 0 {
		in.Limit = 10
	}
	in.Limit = min(in.Limit, maxResults)
	u := *e.url
	q := u.Query()
	q.Set("q", strings.TrimSpace(in.Query))
	if e.count != "" {
		q.Set(e.count, strconv.Itoa(maxResults))
	}
	u.RawQuery = q.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header = e.header.Clone()
	// The key must not be sent to a redirect's target.
	client := &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: stay,
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := read(resp, maxAnswer, "Use a more specific query.")
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, tool.Errorf(
			tool.IOError,
			"The search engine at %s answered %d %s.%s",
			e.url.Host,
			resp.StatusCode,
			http.StatusText(resp.StatusCode),
			advice(resp.StatusCode),
		)
	case err != nil:
		return nil, err
	}
	hits, err := e.results(body)
	if err != nil {
		return nil, tool.Errorf(tool.IOError, "The answer of the search engine at %s is not valid JSON.", e.url.Host)
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool { return !in.wants(h) })
	return hits[:min(len(hits), in.Limit)], nil
}

// advice returns advice for an HTTP status, or "".
func advice(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return " Tell the user to check the API key, or to enable the json format of SearXNG."
	case http.StatusTooManyRequests:
		return " Search less often."
	}
	return ""
}

func searxngResults(answer []byte) ([]hit, error) {
	var a struct{ Results []hit }
	err := json.Unmarshal(answer, &a)
	return a.Results, err
}

func braveResults(answer []byte) ([]hit, error) {
	var a struct{ Web struct{ Results []hit } }
	err := json.Unmarshal(answer, &a)
	for i, h := range a.Web.Results { // they contain markup
		a.Web.Results[i] = hit{Title: plain(h.Title), URL: h.URL, Content: plain(h.Description)}
	}
	return a.Web.Results, err
}

// wants reports whether the domain filters accept a result.
func (in searchIn) wants(h hit) bool {
	u, err := parse(h.URL)
	if err != nil {
		return false
	}
	below := func(domain string) bool {
		domain = strings.ToLower(strings.Trim(domain, ". "))
		return domain != "" && (u.Hostname() == domain || strings.HasSuffix(u.Hostname(), "."+domain))
	}
	return (len(in.Allowed) == 0 || slices.ContainsFunc(in.Allowed, below)) && !slices.ContainsFunc(in.Blocked, below)
}

// list formats search results.
func list(hits []hit) tool.Result {
	if len(hits) == 0 {
		res := tool.Success("No results.")
		res.Fields = map[string]any{"results": 0}
		return res
	}
	var b strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, line(h.Title, maxTitle), line(h.URL, maxURL))
		if s := line(h.Content, maxSnippet); s != "" {
			fmt.Fprintf(&b, "   %s\n", s)
		}
	}
	return tool.Result{Output: tool.Text(b.String()), Fields: map[string]any{"results": len(hits)}, Notes: []string{note}}
}

// line returns text as one line, truncated after limit characters.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if rest := after(text, limit); rest != "" {
		text = text[:len(text)-len(rest)] + "…"
	}
	return text
}

// plain returns text without markup.
func plain(s string) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(s)); z.Next() != html.ErrorToken; {
		if t := z.Token(); t.Type == html.TextToken {
			b.WriteString(t.Data)
		}
	}
	return b.String()
}
