//go:build unix

package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveMCP starts a server on standard input and output.
func serveMCP(t *testing.T, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	cmd = command(t, append([]string{"mcp", "serve", "--yes"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewReader(pipe)
}

// mcpSleeper starts a command that never ends, and returns its process.
func mcpSleeper(t *testing.T, dir string, in io.Writer) (pid int) {
	t.Helper()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell","arguments":{"command":"echo $$ > fifo; sleep 600","timeout_ms":600000}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(fifo) // waits for the command
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestMCPServe_EndsWithItsCommandsAtASignalAndAtTheEndOfItsInput(t *testing.T) {
	for name, end := range map[string]func(cmd *exec.Cmd, in io.Closer) error{
		"SIGTERM": func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
		"end":     func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			cmd, in, out := serveMCP(t)
			pid := mcpSleeper(t, cmd.Dir, in)
			if err := end(cmd, in); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(out)
			if code := exitCodeOf(t, cmd); code != 0 {
				t.Errorf("the exit code is %d, want 0", code)
			}
			checkGone(t, pid)
			for line := range strings.Lines(string(rest)) {
				if !strings.HasPrefix(line, `{"jsonrpc":"2.0",`) {
					t.Errorf("standard output has %q", line)
				}
			}
		})
	}
}

func TestMCPServe_OverHTTPNeedsTheToken(t *testing.T) {
	for name, chosen := range map[string]string{"random": "", "chosen": "chosen-0123456789"} {
		t.Run(name, func(t *testing.T) {
			args := []string{"mcp", "serve", "--http", "localhost:0"}
			cmd := command(t, args...)
			if chosen != "" {
				if err := os.WriteFile(filepath.Join(cmd.Dir, "token"), []byte(chosen+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd.Args = append(cmd.Args, "--token-file", "token")
			}
			if err := os.WriteFile(filepath.Join(cmd.Dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			pipe, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			side := bufio.NewReader(pipe)
			line, err := side.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			m := regexp.MustCompile(`^reins: serving MCP at (http://\S+/mcp), bearer token: (.+)\n$`).FindStringSubmatch(line)
			if m == nil || chosen != "" && (m[2] != "from token" || strings.Contains(line, chosen)) {
				t.Fatalf("the server says %q", line)
			}
			token := m[2]
			if chosen != "" {
				token = chosen
			}
			if text, err := readOverHTTP(t, m[1], token); err != nil || !strings.Contains(text, "one") {
				t.Errorf("with the token: %q, %v", text, err)
			}
			if text, err := readOverHTTP(t, m[1], "wrong-0123456789"); err == nil {
				t.Errorf("with another token: %q", text)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if rest, _ := io.ReadAll(side); len(rest) > 0 {
				t.Errorf("the server also says %q", rest)
			}
			if code := exitCodeOf(t, cmd); code != 0 {
				t.Errorf("the exit code is %d, want 0", code)
			}
		})
	}
}

// withToken sends requests with a token.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// readOverHTTP reads a file with a tool.
func readOverHTTP(t *testing.T, url, token string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: withToken(token)}, MaxRetries: -1,
	}, nil)
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "read_file", Arguments: map[string]any{"file_path": "a.txt"}})
	if err != nil {
		return "", err
	}
	return r.Content[0].(*sdk.TextContent).Text, nil
}

// TestMCPServe_AsksTheUserOfTheClient checks what a user sees: the command, and why it needs approval.
func TestMCPServe_AsksTheUserOfTheClient(t *testing.T) {
	for name, c := range map[string]struct {
		tool, args string
		want       []string
	}{
		"command": {"shell", `{"command":"touch made"}`, []string{"shell", "runs: touch made"}},
		"diff":    {"write_file", `{"file_path":"made","content":"first\nsecond\n"}`, []string{"write_file", "+first", "+second", "made"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, "mcp", "serve")
			asked := ""
			client := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, &sdk.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked = r.Params.Message
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
				},
			})
			ctx, cancel := context.WithTimeout(t.Context(), patient)
			defer cancel()
			s, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: 10 * time.Second}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: c.tool, Arguments: jsonText(c.args)})
			if err != nil || r.IsError {
				t.Errorf("%s: %+v, %v", c.tool, r, err)
			}
			for _, part := range c.want {
				if !strings.Contains(asked, part) {
					t.Errorf("the user is asked %q, want %q in it", asked, part)
				}
			}
			if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("the server ends with %v", err)
			}
		})
	}
}

// jsonText is encoded as it is.
type jsonText string

// MarshalJSON returns the text.
func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }
