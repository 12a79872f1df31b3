//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// wireTap records what is sent to a server.
type wireTap struct {
	mu   sync.Mutex
	sent bytes.Buffer
}

// tap returns the address of a proxy that records the bodies of requests to a server.
func (w *wireTap) tap(t *testing.T, server string) string {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		w.mu.Lock()
		w.sent.Write(body.Bytes())
		w.mu.Unlock()
		r.Body = io.NopCloser(&body)
		proxy.ServeHTTP(out, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + to.Path
}

// TestCanaries_ReachNothingThatIsWrittenOrSent plants secrets in the environment, in a dotenv file and in the output
// of a tool, and looks for them in every byte that is written or sent.
func TestCanaries_ReachNothingThatIsWrittenOrSent(t *testing.T) {
	const (
		inEnv    = "canary-in-the-environment-4711"
		inURL    = "canary-pw-0815"
		inDotenv = "canary-in-the-dotenv-file-1234"
		inConfig = "EMP-987654"
	)
	inOutput := "ghp_" + strings.Repeat("Ab1Cd2Ef3", 4)
	canaries := []string{inEnv, inURL, inDotenv, inOutput, inConfig, canary, "Zm9vYmFyCanary"}

	server := newModelServer()
	t.Cleanup(server.Close)
	var taps wireTap
	root := t.TempDir()
	home, work, tmp := filepath.Join(root, "home"), filepath.Join(root, "work"), filepath.Join(root, "tmp")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".config/reins/config.toml"), "[secrets]\npatterns = ['EMP-\\d{6}']\n")
	write(filepath.Join(work, ".env"), "SERVICE_SECRET="+inDotenv+"\n")
	write(filepath.Join(work, "main.go"), "package main\n")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	reins := func(code int, args ...string) {
		t.Helper()
		cmd := exec.Command("reins", args...)
		cmd.Dir = work
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "LANG=C.UTF-8", quickExit, "ANTHROPIC_API_KEY=" + canary,
			"ANTHROPIC_BASE_URL=" + taps.tap(t, server.BaseURL("anthropic")), "CI_DEPLOY_PAT=" + inEnv, "DATABASE_URL=postgres://app:" + inURL + "@db/app",
		}
		out, err := cmd.CombinedOutput()
		said.Write(out)
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("reins %q exits with %d, want %d: %v\n%s", args, got, code, err, out)
		}
	}
	// Commands get no variables with secrets, so these print them from pieces, slowly, in large outputs and in errors.
	half := func(s string) string {
		return fmt.Sprintf("printf %%s '%s'; sleep 0.05; echo '%s'", s[:len(s)/2], s[len(s)/2:])
	}
	calls := []string{
		shellCall(half(inEnv)), shellCall(half(inURL)), shellCall("cat .env"), shellCall(half(inOutput)), shellCall(half(inConfig)),
		shellCall("seq 1 30000; " + half(inEnv) + "; seq 1 30000; " + half(inOutput)), // too large for a record
		shellCall(half(inEnv) + " >&2; exit 3"),
		shellCall("echo 'Authorization: Basic '$(printf Zm9vYmFy)Canary"),
		`call read_file {"file_path":".env"}`,
		`call grep {"pattern":"SERVICE"}`,
		`call edit_file {"file_path":".env","old_string":"SERVICE_SECRET","new_string":"SERVICE_SECRET_2"}`, // its diff has the value
		`call edit_file {"file_path":".env","old_string":"nothing like it","new_string":"x"}`,
		`call write_file {"file_path":".env","content":"SERVICE_SECRET=[redacted:SERVICE_SECRET]"}`,
	}
	for i, output := range []string{"text", "stream-json"} {
		reins(0, "run", "--yes", "--debug", "--output", output, "--session-id", fmt.Sprintf("canary%d", i), strings.Join(calls, "\n"))
	}
	reins(4, "run", "--output", "json", "--session-id", "asks", calls[8]+"\n"+calls[10]) // the question has a preview
	reins(0, "sessions", "show", "canary0")
	reins(0, "sessions", "show", "canary1", "--events")
	reins(0, "sessions", "show", "canary1", "--json")
	reins(0, "sessions", "show", "asks", "--json")
	reins(0, "sessions", "export", "canary0", filepath.Join(root, "export.tar"))
	reins(0, "sessions", "export", "canary1", "-")
	reins(0, "sessions", "list", "--json")
	reins(0, "audit", "show")
	reins(0, "audit", "show", "--json")
	reins(0, "audit", "tail", "-n", "100")
	reins(0, "audit", "verify")
	reins(2, "run", "--resume", inOutput)            // an error names it
	reins(2, "run", "--system", "/none/"+inEnv, "x") // and another

	if env, err := os.ReadFile(filepath.Join(work, ".env")); err != nil || !strings.Contains(string(env), "SERVICE_SECRET_2_2="+inDotenv) {
		t.Fatalf("the dotenv file is %q, want it edited and its value kept", env)
	}
	look := func(where string, data []byte) {
		t.Helper()
		for _, c := range canaries {
			if i := bytes.Index(data, []byte(c)); i >= 0 {
				t.Errorf("%s contains %q: …%s…", where, c, data[max(0, i-100):min(len(data), i+100)])
			}
		}
	}
	look("the output of the program", said.Bytes())
	look("what the model was sent", taps.sent.Bytes())
	if !bytes.Contains(taps.sent.Bytes(), []byte("[redacted:CI_DEPLOY_PAT]")) || !bytes.Contains(said.Bytes(), []byte("[redacted:github-token]")) {
		t.Error("nothing was redacted, so the test shows nothing")
	}
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		// Checkpoints are copies of the workspace for undo.
		if err == nil && d.IsDir() && d.Name() == "checkpoints" {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || name == filepath.Join(work, ".env") {
			return err
		}
		files++
		data, err := os.ReadFile(name)
		look(name, data)
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

// shellCall returns a line of a prompt that runs a command.
func shellCall(command string) string { return fmt.Sprintf(`call shell {"command":%q}`, command) }
