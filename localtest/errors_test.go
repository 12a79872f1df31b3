package localtest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/reins-agent/reins/localtest/gguf"
)

func TestUnknownModel_IsOneClearError(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		dir, _ := project(t)
		args := append([]string{"run", "--output", "stream-json"}, p.flags(shared, "no-such-model")...)
		out := runReins(t, dir, append(args, task)...)
		events, result := out.records(t)
		if result.Outcome != "failed" || out.code != 1 || result.Error == nil || !strings.Contains(result.Error.Message, "no-such-model") {
			t.Errorf("got outcome %q, code %d, error %+v", result.Outcome, out.code, result.Error)
		}
		if n := number(events, "MODEL_RETRY"); n != 0 {
			t.Errorf("the call was retried %d times", n)
		}
	})
}

func TestModelWithoutTools_IsOneClearError(t *testing.T) {
	dir, _ := project(t)
	args := append([]string{"run", "--output", "stream-json"}, protocols[0].flags(shared, "no-tools")...)
	out := runReins(t, dir, append(args, task)...)
	if _, result := out.records(t); out.code == 0 || result.Error == nil || !strings.Contains(result.Error.Message, "tools") {
		t.Errorf("got outcome %q, code %d, error %+v", result.Outcome, out.code, result.Error)
	}
}

// Each protocol has its own model: sometimes Ollama does not free a model after a client has left.
func TestInterrupt_StopsAnEndlessAnswer(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		name := "endless-" + p.provider
		script := gguf.Model{Answers: []string{"Over " + p.provider + " it says this again and again. "}, Endless: true}
		if err := shared.create(model{name: name, script: script, template: full, window: window}); err != nil {
			t.Fatal(err)
		}
		left := make(chan error, 1)
		proxy := httptest.NewServer(watch(left))
		defer proxy.Close()
		dir, _ := project(t)
		cmd := exec.CommandContext(t.Context(), reins, "run", "--output", "stream-json", "--provider", p.provider, "--base-url", proxy.URL+p.path, "--model", name, task)
		cmd.Dir, cmd.Env = dir, environment(t)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var last string
		signalled := false
		for lines := bufio.NewReader(stdout); err == nil; {
			var line string
			if line, err = lines.ReadString('\n'); line != "" {
				last = line
			}
			if !signalled && strings.Contains(line, "ASSISTANT_TEXT_DELTA") {
				signalled = true
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
		}
		cmd.Wait()
		if _, result := (outcome{stdout: last}).records(t); result.Outcome != "interrupted" || cmd.ProcessState.ExitCode() != 130 {
			t.Errorf("got outcome %q and code %d, want interrupted and 130", result.Outcome, cmd.ProcessState.ExitCode())
		}
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the request ended with %v, want that the client left", err)
		}
	})
}

// watch returns a proxy for the shared server that reports how each answer ended: with nil, or because the client
// left.
func watch(ended chan<- error) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: shared.address}) },
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/") {
				ended <- r.Context().Err()
			}
		}()
		proxy.ServeHTTP(w, r)
	})
}

func TestLoading_IsWaitedFor(t *testing.T) {
	if out, err := shared.command("stop", "text").CombinedOutput(); err != nil {
		t.Fatalf("ollama stop: %v\n%s", err, out)
	}
	out := runReins(t, t.TempDir(), append(append([]string{"ask"}, protocols[0].flags(shared, "text")...), "Hello?")...)
	if strings.TrimSpace(out.stdout) != greeting || strings.Contains(out.stderr, "retry") {
		t.Errorf("got %q and %q", out.stdout, out.stderr)
	}
	if ps, err := shared.command("ps").CombinedOutput(); err != nil || !strings.Contains(string(ps), "text:latest") {
		t.Errorf("ollama ps: %v, without the model that answered:\n%s", err, ps)
	}
}
