package local_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
)

// useNames makes this process resolve example.com and all names below .test to an address on this machine, and no
// others.
func useNames(t *testing.T) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if name := q.Name.String(); !strings.HasSuffix(name, ".test.") && name != "example.com." {
				m.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr("127.0.0.1").As4()},
				}}
			}
			if answer, err := m.Pack(); err == nil {
				conn.WriteTo(answer, from)
			}
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		conn.Close()
		<-done
	})
}

// site is a server on the host, over HTTP and HTTPS.
type site struct {
	plain, secret *httptest.Server
	port, tlsPort string
	hits          chan string // Host headers in requests
}

func newSite(t *testing.T, files string) *site {
	t.Helper()
	s := &site{hits: make(chan string, 1000)}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits <- r.Host
		if r.URL.Path == "/hello" {
			fmt.Fprintf(w, "hello %s", r.Host)
			return
		}
		if r.URL.Path == "/left" { // an npm package
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"name":"left","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"left","version":"1.2.3","dist":{}}}}`)
			return
		}
		http.FileServer(http.Dir(files)).ServeHTTP(w, r)
	})
	s.plain, s.secret = httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(s.plain.Close)
	t.Cleanup(s.secret.Close)
	port := func(u string) string { return u[strings.LastIndexByte(u, ':')+1:] }
	s.port, s.tlsPort = port(s.plain.URL), port(s.secret.URL)
	return s
}

// newProxied returns an environment whose commands can reach hosts.
func newProxied(t *testing.T, hosts ...string) *local.Env {
	t.Helper()
	e := newEnv(t, local.Config{Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite, Hosts: hosts}})
	if s, _ := e.Sandbox(); !s.Full() {
		t.Skipf("the sandbox is not complete: %v", s.Problems)
	}
	return e
}

// has skips the test without a program.
func has(t *testing.T, program string) {
	t.Helper()
	if exec.Command(program, "--version").Run() != nil {
		t.Skipf("%s does not work here", program)
	}
}

// succeeds runs a line that must succeed and print something.
func succeeds(t *testing.T, e *local.Env, line, want string) {
	t.Helper()
	if res := run(t, e, line); res.Code != 0 || !strings.Contains(res.Combined, want) || len(res.Refused) > 0 {
		t.Errorf("%s: exit code %d, refused %v, want %q:\n%s", line, res.Code, res.Refused, want, res.Combined)
	}
}

func TestSandbox_ProxyLetsClientsReachListedHosts(t *testing.T) {
	has(t, "curl")
	useNames(t)
	s := newSite(t, t.TempDir())
	e := newProxied(t, "good.test:"+s.port, "*.good.test:"+s.tlsPort, "example.com:"+s.tlsPort, "127.0.0.1:"+s.port, "127.0.0.1:"+s.tlsPort)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.secret.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(e.Info().Dir, "ca.pem"), ca, 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"curl -sf http://good.test:" + s.port + "/hello":                                       "hello good.test:" + s.port,
		"curl -sf --cacert ca.pem https://example.com:" + s.tlsPort + "/hello":                 "hello example.com:" + s.tlsPort,
		"curl -sfk https://a.good.test:" + s.tlsPort + "/hello":                                "hello a.good.test:" + s.tlsPort,
		"curl -sf http://GOOD.test.:" + s.port + "/hello":                                      "hello",
		"curl -sf --noproxy '' http://127.0.0.1:" + s.port + "/hello":                          "hello 127.0.0.1:" + s.port,
		"curl -sf --proxytunnel http://good.test:" + s.port + "/hello":                         "hello good.test:" + s.port,
		"unset https_proxy HTTPS_PROXY; curl -sfk https://b.good.test:" + s.tlsPort + "/hello": "hello b.good.test:" + s.tlsPort,
		"env | grep -i _proxy= | sort | wc -l":                                                 "9",
	} {
		succeeds(t, e, line, want)
	}
	if l := e.Info().Limits; l.Network || len(l.Hosts) != 5 {
		t.Errorf("the limits are %+v", l)
	}
}

func TestSandbox_ProxyServesGitNpmNodeGoAndPython(t *testing.T) {
	useNames(t)
	files := t.TempDir()
	s := newSite(t, files)
	git := exec.Command("sh", "-ec", `git init -q work; cd work; echo cloned > file; git add file
		git -c user.name=a -c user.email=a@b commit -qm x; cd ..; git clone -q --bare work r.git; git -C r.git update-server-info
		mkdir -p m.test/@v; printf 'v1.0.0\n' > m.test/@v/list; echo '{"Version":"v1.0.0"}' > m.test/@v/v1.0.0.info; printf 'module m.test\n' > m.test/@v/v1.0.0.mod`)
	git.Dir = files
	if out, err := git.CombinedOutput(); err != nil {
		t.Skipf("git does not work here: %s", out)
	}
	e := newProxied(t, "good.test:"+s.port, "127.0.0.1:"+s.port)
	at := "http://good.test:" + s.port
	for program, c := range map[string]struct{ line, want string }{
		"git":     {"git clone -q " + at + "/r.git && cat r/file", "cloned"},
		"npm":     {"npm view left version --registry " + at + " --no-update-notifier", "1.2.3"},
		"node":    {"node -e 'fetch(\"" + at + "/hello\").then(r => r.text()).then(console.log)'", "hello good.test"},
		"python3": {"python3 -c 'import urllib.request as u; print(u.urlopen(\"" + at + "/hello\").read())'", "hello good.test"},
		"go":      {"GOFLAGS=-mod=mod GONOSUMDB=* GOPROXY=" + at + " go list -m -versions m.test", "v1.0.0"},
	} {
		t.Run(program, func(t *testing.T) {
			if program == "go" {
				if exec.Command("go", "version").Run() != nil {
					t.Skip("go does not work here")
				}
			} else {
				has(t, program)
			}
			if program == "node" && exec.Command("node", "-e", `process.exit(+process.versions.node.split(".")[0] >= 24 ? 0 : 1)`).Run() != nil {
				t.Skip("this version does not use proxies of the environment")
			}
			succeeds(t, e, c.line, c.want)
		})
	}
}

// TestSandbox_ProxyRefuses covers attempts to reach unlisted hosts: none of them reaches the server.
func TestSandbox_ProxyRefuses(t *testing.T) {
	has(t, "curl")
	useNames(t)
	s, other := newSite(t, t.TempDir()), newSite(t, t.TempDir())
	e := newProxied(t, "rebound.test:"+s.port, "*.rebound.test", "good.test:"+other.port, "127.0.0.1:"+other.port, "github.com")
	raw := func(request string) string {
		if !strings.Contains(request, "Host: ") {
			request = strings.Replace(request, "HTTP/1.1", "HTTP/1.1\\r\\nHost: github.com", 1)
		}
		return "exec 3<>/dev/tcp/127.0.0.1/31280 && printf '" + strings.Replace(request, "HTTP/1.1", "HTTP/1.1\\r\\nConnection: close", 1) + "' >&3 && timeout 20 cat <&3"
	}
	for name, c := range map[string]struct{ line, refused string }{
		"direct, by name":             {"curl -sf --noproxy '*' http://rebound.test:" + s.port + "/hello", ""},
		"direct, by address":          {"curl -sf --noproxy '*' http://127.0.0.1:" + s.port + "/hello", ""},
		"another name":                {"curl -sf http://evil.test:" + s.port + "/hello", "evil.test:" + s.port},
		"another name, tunnel":        {"curl -sfk https://evil.test:" + s.tlsPort + "/hello", "evil.test:" + s.tlsPort},
		"usual port":                  {"curl -sf http://evil.test/hello", "evil.test"},
		"name below":                  {"curl -sf http://x.good.test:" + other.port + "/hello", "x.good.test:" + other.port},
		"longer name":                 {"curl -sf http://evilgood.test:" + other.port + "/hello", "evilgood.test:" + other.port},
		"another port":                {"curl -sf http://good.test:" + s.port + "/hello", "good.test:" + s.port},
		"address literal":             {"curl -sf --noproxy '' http://127.0.0.1:" + s.port + "/hello", "127.0.0.1:" + s.port},
		"address literal, tunnel":     {"curl -sfp --noproxy '' http://127.0.0.1:" + s.port + "/hello", "127.0.0.1:" + s.port},
		"mapped address":              {"curl -sf --noproxy '' 'http://[::ffff:127.0.0.1]:" + s.port + "/hello'", "127.0.0.1:" + s.port},
		"short address":               {raw("GET http://127.1:" + s.port + "/hello HTTP/1.1\\r\\n\\r\\n"), ""},
		"number as address":           {raw("CONNECT 2130706433:" + s.port + " HTTP/1.1\\r\\n\\r\\n"), ""},
		"loopback of the host":        {raw("CONNECT localhost:" + s.port + " HTTP/1.1\\r\\n\\r\\n"), "localhost:" + s.port},
		"name of a private address":   {"curl -sf http://rebound.test:" + s.port + "/hello", "rebound.test:" + s.port + ",127.0.0.1:" + s.port},
		"private address, tunnel":     {"curl -sfp http://rebound.test:" + s.port + "/hello", "rebound.test:" + s.port + ",127.0.0.1:" + s.port},
		"forged Host header":          {raw("GET http://evil.test:" + s.port + "/hello HTTP/1.1\\r\\nHost: good.test:" + other.port + "\\r\\n\\r\\n"), "evil.test:" + s.port},
		"only a Host header":          {raw("GET /hello HTTP/1.1\\r\\nHost: good.test:" + other.port + "\\r\\n\\r\\n"), ""},
		"tunnel with a Host header":   {raw("CONNECT evil.test:" + s.port + " HTTP/1.1\\r\\nHost: good.test:" + other.port + "\\r\\n\\r\\n"), "evil.test:" + s.port},
		"user that looks like a host": {raw("GET http://good.test:" + other.port + "@evil.test:" + s.port + "/hello HTTP/1.1\\r\\n\\r\\n"), "evil.test:" + s.port},
		"another scheme":              {raw("GET ftp://good.test:" + other.port + "/hello HTTP/1.1\\r\\n\\r\\n"), ""},
		"no port":                     {raw("CONNECT good.test HTTP/1.1\\r\\n\\r\\n"), ""},
	} {
		res := run(t, e, c.line)
		if res.Code == 0 && strings.Contains(res.Combined, "hello ") {
			t.Errorf("%s: %s got an answer: %s", name, c.line, res.Combined)
		}
		if got := strings.Join(res.Refused, " "); got != c.refused {
			t.Errorf("%s: refused %q, want %q: %s", name, got, c.refused, res.Combined)
		}
	}
	for _, s := range []*site{s, other} {
		if len(s.hits) > 0 {
			t.Errorf("a request reached the server: %s", <-s.hits)
		}
	}
	// A forged Host header does not reach the server either, although its address is listed.
	res := run(t, e, raw("GET http://good.test:"+other.port+"/hello HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"))
	if host := <-other.hits; host != "good.test:"+other.port || !strings.Contains(res.Combined, "hello good.test") {
		t.Errorf("the server got the host %q: %s", host, res.Combined)
	}
}

// TestSandbox_ProxyIsOnlyForTheBoxWithHosts covers commands that must have no network at all.
func TestSandbox_ProxyIsOnlyForTheBoxWithHosts(t *testing.T) {
	useNames(t)
	s := newSite(t, t.TempDir())
	connect := "exec 3<>/dev/tcp/127.0.0.1/31280"
	e := newProxied(t, "good.test:"+s.port, "127.0.0.1:"+s.port)
	succeeds(t, e, connect+" && echo reached", "reached")
	if res, err := env.Exec(t.Context(), e, env.Command{Line: connect + "; env | grep -ci http_proxy", ReadOnly: true}); err != nil || !strings.Contains(res.Combined, "0\n") || res.Code == 0 {
		t.Errorf("a command that only reads: %+v, %v", res, err)
	}
	plain := newBoxed(t, local.Config{})
	if res := run(t, plain, connect); res.Code == 0 {
		t.Errorf("a sandbox without hosts has a proxy: %+v", res)
	}
	if c, err := net.Dial("tcp", sandbox.ProxyAddr); err == nil {
		c.Close()
		t.Error("the proxy can be reached from outside of the sandbox")
	}
	if res := run(t, e, "curl -s http://good.test:"+s.port+"/hello"); res.Combined != "hello good.test:"+s.port {
		t.Errorf("after that: %+v", res)
	}
}

func TestSandbox_ProxyWithAnInvalidHostIsAnError(t *testing.T) {
	for _, host := range []string{"", "*", "*.com", "http://x.org", "a b", "x.org/path", "x.org:0", "x.org:99999", "127.1", "0x7f.1", "[fe80::1%eth0]", "x..org"} {
		if e, err := local.New(local.Config{Dir: t.TempDir(), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite, Hosts: []string{host}}}); err == nil {
			e.Close()
			t.Errorf("%q is accepted", host)
		}
	}
}
