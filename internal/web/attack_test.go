package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reins-agent/reins/tool"
)

func TestAddress_AllowsOnlyPublicAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"8.8.8.8": "", "93.184.216.34": "", "2606:4700:4700::1111": "", "64:ff9b::808:808": "", "::ffff:8.8.8.8": "", "::ffff:100.64.0.1": "NAT",
		"127.0.0.1": "loopback", "127.255.255.254": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback", "64:ff9b::7f00:1": "loopback",
		"10.1.2.3": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fc00::1": "private", "fd12::1": "private",
		"::ffff:10.0.0.1": "private", "64:ff9b::a00:1": "private",
		"169.254.1.1": "link-local", "169.254.169.254": "link-local", "::ffff:169.254.169.254": "link-local", "64:ff9b::a9fe:a9fe": "link-local",
		"fe80::1": "link-local", "fe80::1%eth0": "link-local",
		"100.100.100.200": "metadata", "168.63.129.16": "metadata", "192.0.0.192": "metadata", "fd00:ec2::254": "metadata", "fd20:ce::254": "metadata",
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified",
		"100.64.0.1": "NAT", "192.0.0.1": "reserved", "192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.1": "documentation",
		"198.18.0.1": "benchmarking", "192.88.99.1": "6to4", "240.0.0.1": "reserved", "255.255.255.255": "reserved",
		"224.0.0.1": "multicast", "ff02::1": "multicast",
		"::7f00:1": "reserved", "64:ff9b:1::1": "reserved", "100::1": "reserved", "fec0::1": "reserved", "5f00::1": "reserved",
		"2001::1": "reserved", "2001:db8::1": "documentation", "2002:7f00:1::": "6to4", "3fff::1": "documentation",
	} {
		err := Config{}.check(netip.MustParseAddr(address))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
}

func TestAddress_RefusesMetadataEvenIfPrivateAddressesAreAllowed(t *testing.T) {
	for _, address := range []string{"169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255"} {
		if private.check(netip.MustParseAddr(address)) == nil {
			t.Errorf("%s is allowed", address)
		}
	}
	for _, address := range []string{"127.0.0.1", "::1", "10.0.0.1", "192.168.0.1", "fd12::1", "100.64.0.1"} {
		if err := private.check(netip.MustParseAddr(address)); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestFetch_PrivateServersAreNotReached(t *testing.T) {
	var hits atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	u, _ := url.Parse(s.URL)
	c := Config{Fetch: true, resolver: resolver(t, "127.0.0.1")}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "rebind.test"} {
		refuses(t, c, "http://"+host+":"+u.Port()+"/", tool.PermissionDenied, "is a loopback address", "Only public addresses")
	}
	refuses(t, c, "http://169.254.169.254/latest/meta-data/", tool.PermissionDenied, "link-local")
	refuses(t, private, "http://169.254.169.254/latest/meta-data/", tool.PermissionDenied, "link-local")
	for _, odd := range []string{"2130706433", "0x7f000001", "017700000001", "127.1"} {
		out := run(t, c, "web_fetch", map[string]any{"url": "http://" + odd + ":" + u.Port() + "/"})
		if out.OK() {
			t.Errorf("%s was fetched", odd)
		}
	}
	if hits.Load() > 0 {
		t.Errorf("the server got %d requests", hits.Load())
	}
}

// The name first has a public address. When the redirect is followed, it has a private one.
func TestFetch_RebindingIsNoticed(t *testing.T) {
	var hits atomic.Int32
	inside := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	u, _ := url.Parse(inside.URL)
	at(t, "127.0.0.2:"+u.Port(), func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/secret", http.StatusFound) })
	c := Config{Fetch: true, resolver: resolver(t, "127.0.0.2", "127.0.0.1"), public: netip.MustParseAddr("127.0.0.2")}
	refuses(t, c, "http://rebind.test:"+u.Port()+"/", tool.PermissionDenied, "127.0.0.1 is a loopback address")
	if hits.Load() > 0 {
		t.Error("the private server was reached")
	}
}

func TestFetch_RedirectsToOtherHostsAreReported(t *testing.T) {
	var hits atomic.Int32
	inside := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	for name, to := range map[string]string{
		"private": inside.URL + "/secret", "other port": "", "metadata": "http://169.254.169.254/latest", "public": "https://example.com/a?b=c",
	} {
		t.Run(name, func(t *testing.T) {
			if to == "" {
				to = inside.URL
			}
			s := at(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) })
			out := run(t, Config{Fetch: true, public: netip.MustParseAddr("127.0.0.2")}, "web_fetch", map[string]any{"url": s.URL})
			has(t, out.Model, "redirects to another host: "+to)
			if !out.OK() || out.Result.Fields["redirect"] != to {
				t.Errorf("got %+v, %v", out.Result.Error, out.Result.Fields)
			}
		})
	}
	if hits.Load() > 0 {
		t.Errorf("a redirect was followed to another host %d times", hits.Load())
	}
}

func TestRedirect_LeavesNeitherHostNorHTTPS(t *testing.T) {
	for _, c := range []struct {
		from, to string
		followed bool
	}{
		{"http://a.test/", "http://a.test/b", true},
		{"http://a.test/", "http://A.TEST/b", true},
		{"http://a.test/", "https://a.test/", true},
		{"https://a.test/", "http://a.test/", false},
		{"https://a.test/", "https://a.test:8443/", false},
		{"http://a.test:8080/", "https://a.test/", false},
		{"https://a.test/", "https://b.a.test/", false},
		{"https://a.test/", "https://a.test.evil/", false},
		{"https://a.test/", "https://u:p@a.test/", false},
		{"https://a.test/", "file:///etc/passwd", false},
		{"https://a.test/", "gopher://a.test/", false},
	} {
		from, _ := http.NewRequest(http.MethodGet, c.from, nil)
		to, _ := http.NewRequest(http.MethodGet, c.to, nil)
		if err := redirect(to, []*http.Request{from}); (err == nil) != c.followed {
			t.Errorf("%s to %s: got %v, followed should be %t", c.from, c.to, err, c.followed)
		}
	}
}

func TestFetch_EndlessRedirectsStop(t *testing.T) {
	var hits atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, fmt.Sprintf("/%d", hits.Add(1)), http.StatusFound)
	})
	refuses(t, private, s.URL, tool.IOError, "redirects more than 5 times")
	if hits.Load() != 6 {
		t.Errorf("got %d requests, want 6", hits.Load())
	}
}

func TestFetch_OddURLsAreInvalid(t *testing.T) {
	for u, why := range map[string]string{
		"file:///etc/passwd": "scheme", "ftp://example.com/x": "scheme", "gopher://127.0.0.1:70/": "scheme", "data:text/html,x": "scheme", "javascript:alert(1)": "scheme",
		"//example.com/": "scheme", "example.com": "scheme", "": "one URL", "https://user:pass@example.com/": "credentials", "https://user@example.com/": "credentials",
		"https:///x": "no host", "http://": "no host", "http://a b/": "parsed", "http://evil.test\\@good.test/": "parsed", "http://a\x00b/": "parsed",
		"http://xn--a/": "host name", "https://example.com/" + strings.Repeat("a", 5000): "longer",
	} {
		out := run(t, private, "web_fetch", map[string]any{"url": u})
		if out.OK() || out.Result.Error.Code != tool.ValidationError || !strings.Contains(out.Model, why) {
			t.Errorf("%.60q: got %q, want an invalid URL: %s", u, out.Model, why)
		}
		if out.Accesses == nil || len(out.Accesses) > 0 {
			t.Errorf("%.60q: got accesses %v, want none", u, out.Accesses)
		}
	}
}

// endless sends a body until the client has gone.
func endless(w io.Writer) {
	for block := make([]byte, 64<<10); ; {
		for i := range block {
			block[i] = 'a'
		}
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestFetch_LargeBodiesAreRefused(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "10737418240")
			endless(w)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			endless(w)
		},
		"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			endless(gzip.NewWriter(w))
		},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, private, serve(t, h).URL, tool.TooLarge, "larger than 5 MiB. Fetch") })
	}
}

func TestFetch_LargeHeadersAreRefused(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 128<<10))
	})
	refuses(t, private, s.URL, tool.IOError, "cannot be fetched")
}

func TestFetch_SlowServersReachTheTimeLimit(t *testing.T) {
	c := private
	c.timeout = 50 * time.Millisecond
	for name, h := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for range 2000 {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					_, _ = io.WriteString(w, "x")
					w.(http.Flusher).Flush()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c, serve(t, h).URL, tool.IOError, "time limit") })
	}
}

func TestMarkdown_SmallPagesDoNotBecomeLarge(t *testing.T) {
	at, _ := url.Parse("https://example.com/")
	for name, page := range map[string]string{
		"colspan":       `<table><tr><td colspan="2000" rowspan="2000">x</td></tr></table>`,
		"long cell":     "<table><tr><th>" + strings.Repeat("x", 100_000) + "</th></tr>" + strings.Repeat("<tr><td>y</td></tr>", 10_000) + "</table>",
		"ragged table":  "<table><tr>" + strings.Repeat("<td>x</td>", 2_000) + "</tr>" + strings.Repeat("<tr><td>y</td></tr>", 2_000) + "</table>",
		"nested lists":  strings.Repeat("<ul><li>", 150) + strings.Repeat("<p>x</p>", 2_000),
		"nested quotes": strings.Repeat("<blockquote>", 300) + strings.Repeat("<p>x</p>", 2_000),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := markdown(t.Context(), make(chan struct{}, 1), page, at)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > 8*len(page)+1000 {
				t.Errorf("%d bytes became %d", len(page), len(text))
			}
			has(t, text, "x")
		})
	}
}

func TestMarkdown_DeepNestingIsAnError(t *testing.T) {
	s := serve(t, sends("text/html", strings.Repeat("<div>", 100_000)))
	refuses(t, private, s.URL, tool.IOError, "cannot be parsed")
}

func TestMarkdown_PagesWithVeryManyElementsAreRefused(t *testing.T) {
	s := serve(t, sends("text/html", strings.Repeat("<br>", 200_001)))
	refuses(t, private, s.URL, tool.TooLarge, "more than 200000 elements")
}

func TestMarkdown_WaitsForItsTurn(t *testing.T) {
	at, _ := url.Parse("https://example.com/")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	if _, err := markdown(ctx, turn, "<p>x", at); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	<-turn
	if _, err := markdown(t.Context(), turn, "<p>x", at); err != nil || len(turn) > 0 {
		t.Errorf("got %v, and %d places are taken", err, len(turn))
	}
}
