package cli

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/exchanges"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// machine is a user's machine with model servers.
type machine struct {
	t    *testing.T
	host Host
	env  map[string]string
}

func newMachine(t *testing.T, places ...connect.Place) *machine {
	t.Helper()
	home := t.TempDir()
	t.Chdir(t.TempDir())
	m := &machine{t: t, env: map[string]string{
		"HOME": home, "REINS_HOME": filepath.Join(home, "state"), "XDG_CONFIG_HOME": filepath.Join(home, "config"), "PATH": os.Getenv("PATH"),
	}}
	if len(places) == 0 {
		places = []connect.Place{}
	}
	m.host = Host{
		Getenv: func(name string) string { return m.env[name] }, systemDir: t.TempDir(), search: connect.Search{Places: places, Timeout: 10 * time.Second},
	}
	return m
}

func at(name string, s *exchanges.Server) connect.Place {
	return connect.Place{Name: name, Port: s.Listener.Addr().(*net.TCPAddr).Port}
}

// configure writes the user's configuration.
func (m *machine) configure(text string) {
	m.t.Helper()
	dir := filepath.Join(m.env["XDG_CONFIG_HOME"], "reins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// reins runs a command and checks its exit code.
func (m *machine) reins(code int, args ...string) (stdout, stderr string) {
	m.t.Helper()
	var out, side bytes.Buffer
	h := m.host
	h.Args, h.Stdin, h.Stdout, h.Stderr = args, strings.NewReader(""), &out, &side
	if got := Main(h); got != code {
		m.t.Errorf("reins %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), side.String())
	}
	return out.String(), side.String()
}

func (m *machine) says(text string, wants ...string) {
	m.t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			m.t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// newOllama returns an Ollama server with a window and the models of the recording. It answers calls in turn, and the
// last recording again and again.
func newOllama(t *testing.T, window string, answers ...string) *exchanges.Server {
	t.Helper()
	return exchanges.Serve(t, func(r exchanges.Request) string {
		switch r.Path {
		case "/v1/models":
			return "ollama-models"
		case "/api/show":
			if strings.Contains(r.Body, "plain") || strings.Contains(r.Body, "scripted-broken:latest") {
				return `{"capabilities":["completion"]}`
			}
			return `{"capabilities":["completion","tools"]}`
		case "/api/ps":
			return `{"models":[{"name":"scripted-call:latest","context_length":` + window + `},{"name":"scripted-broken:latest","context_length":` + window + `}]}`
		case "/v1/chat/completions":
			name := answers[0]
			if len(answers) > 1 {
				answers = answers[1:]
			}
			return name
		}
		return ""
	})
}

func TestLocal_ATruncatedConversationIsReported(t *testing.T) {
	for _, tt := range []struct {
		window  string
		answers []string
		says    string
	}{
		{"4096", []string{"ollama-truncated-1", "ollama-truncated-2"}, "read only 4096 tokens"},
		{"32768", []string{"ollama-truncated-large-1", "ollama-truncated-large-2"}, "read only 32768 tokens"},
	} {
		m := newMachine(t, at("Ollama", newOllama(t, tt.window, tt.answers...)))
		_, side := m.reins(0, "run", "--provider", "local", "--model", "scripted-call", "Read hello.txt")
		m.says(side, tt.says, "OLLAMA_CONTEXT_LENGTH", "num_ctx", "context window of ")
		out, _ := m.reins(0, "sessions", "show", "latest", "--json")
		m.says(out, `"context_window":`+tt.window, `"code":"context_truncated"`)
	}
}

func TestLocal_TheSecondSignIsACountBelowTheOneBefore(t *testing.T) {
	ollama := newOllama(t, "65536", "ollama-truncated-large-1", "ollama-truncated-large-2") // as a gateway that hides the window
	m := newMachine(t, at("Ollama", ollama))
	_, side := m.reins(0, "run", "--provider", "local", "--model", "scripted-call", "Read hello.txt")
	m.says(side, "read only 15109 tokens")
}

func TestLocal_AnIntactConversationIsNot(t *testing.T) {
	m := newMachine(t, at("Ollama", newOllama(t, "32768", "ollama-call", "ollama-call-answer")))
	out, side := m.reins(0, "run", "--provider", "local", "--model", "scripted-call", "Read hello.txt")
	m.says(out, "The file was read, and all is done.")
	if strings.Contains(side, "dropped") || strings.Contains(side, "raise it") {
		t.Errorf("a warning for nothing:\n%s", side)
	}
}

func TestLocal_ASwallowedCallIsNotSuccess(t *testing.T) {
	ollama := newOllama(t, "32768", "ollama-swallowed-call")
	m := newMachine(t, at("Ollama", ollama))
	_, side := m.reins(1, "run", "--provider", "local", "--model", "scripted-broken", "Read hello.txt")
	m.says(side, "empty or unusable answers", "malformed tool call", "failed")
	if n := len(ollama.Requests("/v1/chat/completions")); n != 4 {
		t.Errorf("%d calls, want 4", n)
	}
	m = newMachine(t, at("Ollama", newOllama(t, "32768", "ollama-swallowed-call", "ollama-call", "ollama-call-answer")))
	out, _ := m.reins(0, "run", "--provider", "local", "--model", "scripted-broken", "Read hello.txt")
	m.says(out, "all is done")
}

func TestLocal_SaysWhichServerAndModelItTook(t *testing.T) {
	ollama := newOllama(t, "4096", "ollama-text")
	llama := exchanges.Serve(t, func(r exchanges.Request) string {
		return map[string]string{"/v1/models": "llamacpp-models", "/v1/chat/completions": "llamacpp-text"}[r.Path]
	})
	m := newMachine(t, at("Ollama", ollama), at("llama.cpp", llama))
	_, side := m.reins(0, "ask", "--provider", "local", "--model", "script.gguf", "hi")
	m.says(side, "using model script.gguf from llama.cpp at "+llama.URL+"/v1, with a context window of 32768 tokens\n")
	_, side = m.reins(0, "ask", "--provider", "local", "hi")
	m.says(side, "using model scripted-call:latest from Ollama at "+ollama.URL+"/v1, with a context window of only 4096 tokens; raise it with OLLAMA_CONTEXT_LENGTH or num_ctx")
	_, side = m.reins(2, "ask", "--provider", "local", "--model", "script.ggu", "hi")
	m.says(side, "Ollama at ", "llama.cpp at ", "script.gguf")
	_, side = m.reins(0, "ask", "--provider", "local", "--base-url", llama.URL, "hi")
	m.says(side, "script.gguf from llama.cpp at "+llama.URL+"/v1")
	_, side = m.reins(0, "ask", "--provider", "chat", "--base-url", llama.URL+"/v1", "hi")
	m.says(side, "using model script.gguf from llama.cpp at "+llama.URL+"/v1, with a context window of 32768 tokens")
	_, side = m.reins(1, "ask", "--provider", "chat", "--base-url", llama.URL, "--model", "x", "hi")
	m.says(side, "most servers need "+llama.URL+"/v1")
}

func TestLocal_ALoadingModelIsReportedAboutOnceAMinute(t *testing.T) {
	var out, side bytes.Buffer
	v := newTextView(Host{Stdout: &out, Stderr: &side, Getenv: os.Getenv})
	for attempt := 2; attempt <= 24; attempt++ {
		loading := event.Error{Class: string(llm.ErrLoading), Message: "Loading model"}
		if err := v.show(event.Record{Data: event.ModelRetry{Attempt: attempt, Delay: 5 * time.Second, Error: loading}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(side.String(), "the server is still loading the model; trying again in 5s"); n != 3 {
		t.Errorf("%d lines for 23 retries, want 3:\n%s", n, side.String())
	}
}

// newGateway returns a server that wants a key and a header, and answers in the chat protocol.
func newGateway(t *testing.T) *exchanges.Server {
	t.Helper()
	return exchanges.Serve(t, func(r exchanges.Request) string {
		switch {
		case r.Header.Get("Authorization") != "Bearer gate-secret" || r.Header.Get("X-Team") != "blue":
			return "llamacpp-no-key"
		case r.Path == "/v1/models":
			return `{"data":[{"id":"large"}]}`
		case r.Path == "/v1/chat/completions" && strings.Contains(r.Body, `"stream":true`):
			return "ollama-call-answer"
		case r.Path == "/v1/chat/completions":
			return "ollama-text"
		}
		return ""
	})
}

func TestProviders_ANamedOneIsUsedWithItsKeyHeadersAndPrices(t *testing.T) {
	gate := newGateway(t)
	m := newMachine(t)
	m.configure(`[providers.gate]
base_url = "` + gate.URL + `/v1"
key_env = "GATE"
headers = {X-Team = "${TEAM}"}
[[providers.gate.models]]
id = "large"
context_window = 100_000
max_output = 1234
input_price = 100
output_price = 1000
`)
	_, side := m.reins(2, "ask", "--provider", "gate", "hi")
	m.says(side, "provider gate: no key: set the environment variable GATE")
	m.env["GATE"] = "gate-secret"
	_, side = m.reins(2, "ask", "--provider", "gate", "hi")
	m.says(side, "provider gate: header X-Team: the environment variable TEAM is not set")
	m.env["TEAM"] = "green"
	_, side = m.reins(5, "ask", "--provider", "gate", "hi")
	m.says(side, "the key is from GATE")
	m.env["TEAM"] = "blue"

	out, _ := m.reins(0, "ask", "--model", "large", "hi") // the model chooses the provider
	m.says(out, "Hello from a real server")
	if body := gate.Requests("/v1/chat/completions")[1].Body; !strings.Contains(body, `"max_tokens":1234`) {
		t.Errorf("max_output is not sent: %s", body)
	}
	out, _ = m.reins(0, "run", "--provider", "gate", "--budget", "5", "--output", "json", "hi") // 15126 tokens in, 6 out
	m.says(out, `"cost":1.5186`, `"provider":"gate"`)
	out, _ = m.reins(0, "models", "--provider", "gate")
	m.says(out, "gate", "large", "100k", "1k", "1000")
	out, _ = m.reins(0, "run", "--continue", "and again")
	m.says(out, "all is done")
}

func TestProviders_KeysCanComeFromACommandAndHeadersFromAFlag(t *testing.T) {
	gate := newGateway(t)
	m := newMachine(t)
	m.configure(`provider = "gate"
[providers.gate]
base_url = "` + gate.URL + `/v1"
key_command = "echo run >> runs; echo gate-secret"
`)
	out, side := m.reins(0, "ask", "--header", "X-Team: blue", "hi")
	m.says(out, "Hello from a real server")
	m.says(side, "using model large from "+gate.URL+"/v1")
	if runs, _ := os.ReadFile("runs"); string(runs) != "run\n" {
		t.Errorf("the command ran %d times, want once", strings.Count(string(runs), "run"))
	}
	if _, side := m.reins(2, "ask", "--header", "X-Team", "hi"); !strings.Contains(side, "--header: write a header as NAME: VALUE") {
		t.Errorf("it says %s", side)
	}
	for command, want := range map[string]string{"exit 3": "key_command failed: exit status 3", "true": "must print the key", "echo a; echo b": "on one line"} {
		m.configure("provider = \"gate\"\n[providers.gate]\nbase_url = \"" + gate.URL + "/v1\"\nkey_command = \"" + command + "\"\n")
		_, side := m.reins(2, "ask", "hi")
		m.says(side, "provider gate: key_command ", want)
	}
}

func TestProviders_AreShownWithoutCredentials(t *testing.T) {
	m := newMachine(t)
	m.configure("[providers.a]\nbase_url = \"https://a.example/v1\"\nkey_env = \"A_KEY\"\nheaders = {X-Pass = \"hunter2\", X-Org = \"${ORG}\"}\n[providers.b]\nbase_url = \"https://b.example/v1\"\n")
	for _, args := range [][]string{{"config", "show"}, {"config", "show", "--origin"}, {"config", "show", "--json"}, {"config", "get", "providers"}} {
		out, _ := m.reins(0, args...)
		m.says(out, "https://a.example/v1", "A_KEY", "${ORG}", "https://b.example/v1")
		if strings.Contains(out, "hunter2") && args[1] != "get" {
			t.Errorf("%v shows a credential:\n%s", args, out)
		}
	}
	out, _ := m.reins(0, "config", "show", "--origin")
	m.says(out, "providers.a ", "config.toml:1", "providers.b ", "config.toml:5")
	m.configure("[providers.a]\nbase_url = \"a.example\"\n")
	_, side := m.reins(2, "config", "show")
	m.says(side, "config.toml:1:2: providers.a: base_url must begin with https://")
}

func TestResponseTimeout_CanBeSet(t *testing.T) {
	llama := exchanges.Serve(t, func(r exchanges.Request) string {
		return map[string]string{"/v1/models": "llamacpp-models", "/v1/chat/completions": "llamacpp-text"}[r.Path]
	})
	m := newMachine(t)
	_, side := m.reins(2, "ask", "--provider", "local", "--base-url", llama.URL, "--response-timeout", "never", "hi")
	m.says(side, "--response-timeout: response_timeout must be a time such as 90s or 20m")
	m.configure("response_timeout = \"30m\"\n")
	if out, _ := m.reins(0, "ask", "--provider", "local", "--base-url", llama.URL, "hi"); !strings.Contains(out, "Hello from a real server") {
		t.Errorf("it says %s", out)
	}
	p, err := m.host.peek(".")
	if err != nil {
		t.Fatal(err)
	}
	conf, err := p.Connection()
	if err != nil || conf.Limits.FirstByte != 30*time.Minute || conf.Limits.Unary != 30*time.Minute {
		t.Errorf("%+v, %v", conf.Limits, err)
	}
}
