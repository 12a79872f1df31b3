package web

import (
	"compress/gzip"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/reins-agent/reins/tool"
)

const example = `<!doctype html><html><head><title>The  page</title><style>p{}</style></head><body>
<h1>Hello</h1><p>Some <b>bold</b> text and a <a href="/other">link</a>.</p>
<ul><li>one</li><li>two</li></ul><pre><code class="language-go">x := 1</code></pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<script>alert("run")</script><img src="data:image/png;base64,AAAA" alt="dot"></body></html>`

func TestFetch_HTMLBecomesMarkdown(t *testing.T) {
	s := serve(t, sends("text/html; charset=utf-8", example))
	got := fetch(t, private, s.URL+"/page")
	has(t, got, "Title: The page\n", "# Hello", "**bold**", "[link]("+s.URL+"/other)", "- one", "```go\nx := 1\n```", "| a | b |", "comes from the web")
	lacks(t, got, "alert", "p{}", "base64")
}

func TestFetch_HiddenTextIsRemovedOrMarked(t *testing.T) {
	s := serve(t, sends("text/html", `<p>seen</p><!-- secret1 --><p hidden>secret2</p><div style="color:red; DISPLAY : none">secret3</div><span style="visibility:hidden">secret4</span>
<template>secret5</template><p style="font-size:0px">secret6</p><p style="opacity:0">secret7</p><p style="opacity:0.9;font-size:0.9em">kept</p><p>a`+"\u200b\U000e0041"+`b</p>`))
	got := fetch(t, private, s.URL)
	has(t, got, "seen", "kept", "invisible characters")
	lacks(t, got, "secret")
}

func TestFetch_OtherTextIsReturnedAsItIs(t *testing.T) {
	for contentType, body := range map[string]string{
		"text/plain": "a <b>\n", "application/json": `{"a":"<b>"}`, "application/problem+json": `{}`, "text/markdown": "# x", "application/xml": "<a/>",
		"application/x-yaml": "a: 1", "image/svg+xml": "<svg/>", "text/css": "p{}",
	} {
		has(t, fetch(t, private, serve(t, sends(contentType, body)).URL), body)
	}
}

func TestFetch_PDFsAreReadAsText(t *testing.T) {
	data, err := os.ReadFile("../pdf/testdata/browser.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for _, contentType := range []string{"application/pdf", "application/octet-stream", ""} {
		has(t, fetch(t, private, serve(t, sends(contentType, string(data))).URL), "Second point: naïve café\nleft right\n\nSecond page.")
	}
	refuses(t, private, serve(t, sends("application/pdf", "%PDF-1.7 1 0 obj <</Encrypt 2 0 R>> trailer <</Encrypt 2 0 R>>")).URL, tool.UnsupportedMedia, "the PDF is encrypted")
}

func TestFetch_BinaryContentIsRefused(t *testing.T) {
	for contentType, body := range map[string]string{
		"image/png": "x", "application/pdf": "%PDF-1.7", "application/zip": "x", "application/octet-stream": "\x7fELF\x00\x01", "text/plain": "a\x00b", "video/mp4": "x", "": "\x89PNG\r\n\x1a\n",
	} {
		refuses(t, private, serve(t, sends(contentType, body)).URL, tool.UnsupportedMedia, "cannot be shown as text")
	}
}

func TestFetch_CharsetsAreDecoded(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"header": sends("text/plain; charset=iso-8859-1", "caf\xe9"), "meta": sends("text/html", `<meta charset="windows-1252"><p>caf`+"\xe9"),
		"undeclared":          sends("text/plain", "café"),
		"undeclared and late": sends("text/plain", strings.Repeat("x", 2000)+"café"),
		"utf-16":              sends("text/plain; charset=utf-16le", "c\x00a\x00f\x00\xe9\x00"),
		"broken":              sends("text/plain; charset=utf-8", "café \xff"),
	} {
		t.Run(name, func(t *testing.T) { has(t, fetch(t, private, serve(t, h).URL), "café") })
	}
}

func TestFetch_CompressedPagesAreRead(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("got Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte("unzipped"))
		_ = z.Close()
	})
	has(t, fetch(t, private, s.URL), "unzipped")
	other := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("x"))
	})
	refuses(t, private, other.URL, tool.UnsupportedMedia, `"br"`)
}

func TestFetch_LongPagesAreContinued(t *testing.T) {
	s := serve(t, sends("text/plain", strings.Repeat("é", 50_000)+"END"))
	out := run(t, private, "web_fetch", map[string]any{"url": s.URL})
	has(t, out.Model, "The page has 50003 characters. Continue with offset 50000.")
	lacks(t, out.Model, "END", "truncated")
	out = run(t, private, "web_fetch", map[string]any{"url": s.URL, "offset": 50_000})
	if got := tool.String(out.Result.Output); got != "END" {
		t.Errorf("got %q, want END", got)
	}
	out = run(t, private, "web_fetch", map[string]any{"url": s.URL, "offset": 60_000})
	has(t, out.Model, "only 50003 characters")
}

func TestFetch_ErrorPagesFailWithTheirText(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) })
	refuses(t, private, s.URL, tool.IOError, "no such page", "404 Not Found")
}

func TestFetch_SendsNoCredentials(t *testing.T) {
	var requests []*http.Request
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r)
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1", Path: "/"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	})
	_ = run(t, private, "web_fetch", map[string]any{"url": s.URL + "/#part"})
	if len(requests) != 2 {
		t.Fatalf("got %d requests, want 2", len(requests))
	}
	for _, r := range requests {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || !strings.HasPrefix(r.UserAgent(), "Reins/") {
			t.Errorf("got header %v", r.Header)
		}
	}
}

func TestFetch_RulesForDomainsDecide(t *testing.T) {
	s := serve(t, sends("text/plain", "hello"))
	args := map[string]any{"url": s.URL}
	for _, c := range []struct {
		allow, deny string
		ok          bool
	}{{"", "", false}, {"WebFetch(domain:127.0.0.1)", "", true}, {"WebFetch(domain:example.com)", "", false}, {"WebFetch", "WebFetch(domain:127.0.0.1)", false}} {
		if out := runWith(t, private, permits(t, c.allow, c.deny), "web_fetch", args); out.OK() != c.ok {
			t.Errorf("allow %q, deny %q: got %v, want %t", c.allow, c.deny, out.Result.Error, c.ok)
		}
	}
	// A host name in another form is the same host.
	out := runWith(t, private, permits(t, "", "WebFetch(domain:example.com)"), "web_fetch", map[string]any{"url": "https://ⓔxample.COM./"})
	if out.Decision.Code != "denied_by_rule" {
		t.Errorf("got %+v, want denied_by_rule", out.Decision)
	}
}

func TestFetch_AcceptsOtherAgentsCalls(t *testing.T) {
	s := serve(t, sends("text/plain", "hello"))
	for name, args := range map[string]map[string]any{
		"WebFetch":  {"url": s.URL, "prompt": "summarize"},
		"web_fetch": {"prompt": "Read (" + s.URL + "/a), please."},
	} {
		out := run(t, private, name, args)
		if !out.OK() {
			t.Errorf("%s: %v", name, out.Result.Error)
		}
	}
	out := run(t, private, "web_fetch", map[string]any{"prompt": s.URL + " " + s.URL})
	if out.OK() {
		t.Error("a prompt with two URLs was accepted")
	}
}

func TestNew_OffersNothingByDefault(t *testing.T) {
	if made, err := New(Config{}); err != nil || len(made) > 0 {
		t.Errorf("got %d tools, %v, want none", len(made), err)
	}
}
