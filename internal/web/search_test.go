package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reins-agent/reins/tool"
)

// searxng answers as SearXNG does: 403 unless the json format is requested.
func searxng(t *testing.T, results ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/searx/search" {
			t.Errorf("got path %s", r.URL.Path)
		}
		q := r.URL.Query()
		switch {
		case q.Get("q") == "":
			http.Error(w, "No query", http.StatusBadRequest)
		case q.Get("format") != "json":
			http.Error(w, "forbidden", http.StatusForbidden)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{
				"query": q.Get("q"), "number_of_results": 0, "results": results, "answers": []any{}, "corrections": []any{},
				"infoboxes": []any{}, "suggestions": []any{"other"}, "unresponsive_engines": []any{[]any{"x", "timeout"}},
			})
		}
	}
}

func result(url, title, content string) map[string]any {
	return map[string]any{"url": url, "title": title, "content": content, "engine": "duckduckgo", "engines": []string{"duckduckgo"},
		"parsed_url": []string{"https", "x", "/", "", "", ""}, "score": 1.5, "category": "general", "publishedDate": nil}
}

func engineAt(s string) Config { return Config{Search: Search{Backend: "searxng", URL: s + "/searx/"}} }

func TestSearch_ListsSearXNGResults(t *testing.T) {
	s := serve(t, searxng(t, result("https://go.dev/doc", "Go <T>", "The Vec<T>\n type"), result("https://pkg.go.dev/x", "x", strings.Repeat("y", 600)), result("javascript:alert(1)", "bad", "")))
	out := run(t, engineAt(s.URL), "web_search", map[string]any{"query": "go & generics"})
	if !out.OK() {
		t.Fatal(out.Result.Error)
	}
	has(t, out.Model, "1. Go <T>\n   https://go.dev/doc\n   The Vec<T> type\n2. x\n   https://pkg.go.dev/x\n   "+strings.Repeat("y", 500)+"…", "comes from the web")
	lacks(t, out.Model, "javascript")
	u, _ := url.Parse(s.URL)
	if len(out.Accesses) != 1 || out.Accesses[0].String() != "connect "+u.Host {
		t.Errorf("got accesses %v", out.Accesses)
	}
}

func TestSearch_LimitsResultsAndDomains(t *testing.T) {
	var all []map[string]any
	for i := range 30 {
		all = append(all, result(fmt.Sprintf("https://h%d.test/", i), "t", ""))
	}
	all = append(all, result("https://docs.example.com/", "wanted", ""))
	c := engineAt(serve(t, searxng(t, all...)).URL)
	for want, args := range map[int]map[string]any{
		10: {"query": "x"}, 3: {"query": "x", "limit": 3}, 20: {"query": "x", "limit": 100},
		1: {"query": "x", "allowed_domains": []string{"example.com"}},
		0: {"query": "x", "allowed_domains": []string{"xample.com"}},
	} {
		if out := run(t, c, "WebSearch", args); out.Result.Fields["results"] != want {
			t.Errorf("%v: got %v results, want %d", args, out.Result.Fields["results"], want)
		}
	}
	out := run(t, c, "google_web_search", map[string]any{"query": "x", "limit": 20, "blocked_domains": []string{"h0.test", "H1.test."}})
	has(t, out.Model, "1. t\n   https://h2.test/")
}

func TestSearch_ListsBraveResults(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Subscription-Token") != "key" {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"type":"search","web":{"type":"search","results":[{"title":"A &amp; B","url":"https://a.test/","description":"the <strong>word</strong>","age":"1 day"}]}}`))
	})
	c := Config{Search: Search{Backend: "brave", URL: s.URL, Key: "key"}}
	has(t, run(t, c, "web_search", map[string]any{"query": "x"}).Model, "1. A & B\n   https://a.test/\n   the word\n")
	c.Search.Key = "wrong"
	has(t, run(t, c, "web_search", map[string]any{"query": "x"}).Model, "401 Unauthorized", "check the API key")
}

func TestSearch_FailuresAreReported(t *testing.T) {
	for says, h := range map[string]http.HandlerFunc{
		"403 Forbidden. Tell the user":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) },
		"429 Too Many Requests. Search": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusTooManyRequests) },
		"not valid JSON":                sends("text/html", "<html>"),
		"larger than 2 MiB. Use a more": func(w http.ResponseWriter, _ *http.Request) { endless(w) },
		"did not answer in full within": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"answered 302 Found": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusFound)
		},
		"No results.": sends("application/json", `{"results":[]}`),
	} {
		t.Run(says, func(t *testing.T) {
			c := engineAt(serve(t, h).URL)
			if strings.HasPrefix(says, "did not") {
				c.timeout = 50 * time.Millisecond
			}
			has(t, run(t, c, "web_search", map[string]any{"query": "x"}).Model, says)
		})
	}
	c := engineAt("http://127.0.0.1:1")
	for _, args := range []map[string]any{{"query": " "}, {"query": strings.Repeat("x", 401)}, {"query": "x", "limit": -1}} {
		if out := run(t, c, "web_search", args); out.OK() || out.Result.Error.Code != tool.ValidationError {
			t.Errorf("%v: got %v, want ValidationError", args, out.Result.Error)
		}
	}
}

func TestSearch_UnusableBackendsAreErrors(t *testing.T) {
	for says, s := range map[string]Search{
		"use searxng or brave": {Backend: "google"},
		"needs the URL":        {Backend: "searxng"},
		"needs an API key":     {Backend: "brave"},
		"Invalid URL":          {Backend: "searxng", URL: "file:///x"},
		"credentials":          {Backend: "searxng", URL: "https://u:p@x.test"},
		"must use https":       {Backend: "brave", URL: "http://x.test", Key: "k"},
	} {
		if _, err := New(Config{Search: s}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: got %v, want %q", s, err, says)
		}
	}
	for _, s := range []Search{{Backend: "brave", Key: "k"}, {Backend: "brave", Key: "k", URL: "http://[::1]:1"}, {Backend: "searxng", URL: "http://localhost:8080"}} {
		if _, err := New(Config{Search: s}); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestSearch_ARuleForItAllowsNoOtherConnection(t *testing.T) {
	s := serve(t, searxng(t))
	c := engineAt(s.URL)
	c.Fetch, c.AllowPrivate = true, true
	p := permits(t, "WebSearch", "")
	if out := runWith(t, c, p, "web_search", map[string]any{"query": "x"}); !out.OK() {
		t.Errorf("web_search: %v", out.Result.Error)
	}
	if out := runWith(t, c, p, "web_fetch", map[string]any{"url": s.URL}); out.OK() {
		t.Error("web_fetch was allowed")
	}
	if out := runWith(t, c, permits(t, "WebFetch", "WebSearch"), "web_search", map[string]any{"query": "x"}); out.OK() {
		t.Error("web_search was not denied")
	}
}

func TestSearch_TheKeyDoesNotFollowARedirect(t *testing.T) {
	var hits atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_ = run(t, Config{Search: Search{Backend: "brave", URL: s.URL, Key: "key"}}, "web_search", map[string]any{"query": "x"})
	if hits.Load() > 0 {
		t.Error("the redirect was followed")
	}
}
