package mcp

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/tool"
)

// nodeServer returns a published server's program. The tests with them run if REINS_MCP_TOOLS names a directory in
// which they are installed: see scripts/mcp-tools.sh.
func nodeServer(t *testing.T, name string, args ...string) Server {
	t.Helper()
	dir := os.Getenv("REINS_MCP_TOOLS")
	if dir == "" {
		t.Skip("REINS_MCP_TOOLS is not set")
	}
	node := filepath.Join(dir, "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	return Server{Command: node, Args: append([]string{script}, args...)}
}

func TestNode_Filesystem(t *testing.T) {
	dir := t.TempDir()
	c := ready(t, Config{Servers: map[string]Server{"fs": nodeServer(t, "server-filesystem", dir)}, Roots: []string{dir}})
	if left := c.Status()[0].LeftOut; left != nil {
		t.Errorf("tools are left out: %v", left)
	}
	file := filepath.Join(dir, "a.txt")
	if res := invoke(t, c, "mcp__fs__write_file", `{"path":"`+file+`","content":"hello"}`); res.Error != nil {
		t.Fatalf("got %q and the error %v", tool.String(res.Output), res.Error)
	}
	if b, err := os.ReadFile(file); string(b) != "hello" {
		t.Errorf("the file has %q: %v", b, err)
	}
	if got := tool.String(invoke(t, c, "mcp__fs__read_text_file", `{"path":"`+file+`"}`).Output); got != "hello" {
		t.Errorf("the server read %q", got)
	}
	if res := invoke(t, c, "mcp__fs__read_text_file", `{"path":"/etc/hostname"}`); res.Error == nil {
		t.Errorf("the server read a file outside: %q", tool.String(res.Output))
	}
}

func TestNode_Memory(t *testing.T) {
	s := nodeServer(t, "server-memory")
	s.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
	c := ready(t, Config{Servers: map[string]Server{"mem": s}})
	res := invoke(t, c, "mcp__mem__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["wrote programs"]}]}`)
	if res.Error != nil {
		t.Fatalf("got %q and the error %v", tool.String(res.Output), res.Error)
	}
	if got := tool.String(invoke(t, c, "mcp__mem__search_nodes", `{"query":"programs"}`).Output); !strings.Contains(got, "Ada") {
		t.Errorf("the server found %q", got)
	}
}

func TestNode_Everything(t *testing.T) {
	everything(t, nodeServer(t, "server-everything", "stdio"))
}

// The HTTP server listens on all addresses, so the test runs in its own network.
func TestNode_EverythingOverHTTP(t *testing.T) {
	s := nodeServer(t, "server-everything", "streamableHttp")
	if os.Getenv("MCP_TEST_NETWORK") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		script := `ip link set lo up && exec "$0" -test.run '^TestNode_EverythingOverHTTP$' -test.v`
		cmd := exec.CommandContext(t.Context(), "unshare", "-rn", "sh", "-c", script, self)
		cmd.Env = append(os.Environ(), "MCP_TEST_NETWORK=own")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNode_EverythingOverHTTP") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), s.Command, s.Args...)
	cmd.Env = append(os.Environ(), "PORT=3001")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	for { // until the server listens
		conn, err := net.DialTimeout("tcp", "127.0.0.1:3001", time.Second)
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	everything(t, Server{URL: "http://127.0.0.1:3001/mcp"})
}

// everything uses the server that has everything.
func everything(t *testing.T, s Server) {
	s.Timeout = 30 * time.Second
	c := ready(t, Config{Servers: map[string]Server{"all": s}})
	defer c.Close()
	if left := c.Status()[0].LeftOut; left != nil {
		t.Errorf("tools are left out: %v", left)
	}
	t.Logf("%s: %v", c.Status()[0].Protocol, names(c))
	if got := tool.String(invoke(t, c, "mcp__all__echo", `{"message":"hello"}`).Output); got != "Echo: hello" {
		t.Errorf("echo gave %q", got)
	}
	var out strings.Builder
	res := invokeCall(t.Context(), t, c, &tool.Call{Name: "mcp__all__trigger-long-running-operation", Args: []byte(`{"duration":0.2,"steps":2}`), Output: func(p []byte) { out.Write(p) }})
	if res.Error != nil || !strings.Contains(out.String(), "1/2") {
		t.Errorf("a long operation gave %q, the output %q and the error %v", tool.String(res.Output), out.String(), res.Error)
	}
	res = invokeCall(t.Context(), t, c, &tool.Call{Name: "mcp__all__get-tiny-image", Args: []byte(`{}`), Vision: true})
	if len(res.Images) != 1 {
		t.Errorf("there are %d images; the text is %q and the error %v", len(res.Images), tool.String(res.Output), res.Error)
	}
	if got := tool.String(invoke(t, c, "mcp__all__get-structured-content", `{"location":"New York"}`).Output); !strings.Contains(got, "temperature") {
		t.Errorf("structured content is %q", got)
	}
	resources, err := c.Resources(t.Context(), "all")
	if err != nil || len(resources) == 0 {
		t.Errorf("there are %d resources: %v", len(resources), err)
	}
	prompts, err := c.Prompts(t.Context(), "all")
	if err != nil || !slices.ContainsFunc(prompts, func(p Prompt) bool { return p.Name == "args-prompt" }) {
		t.Errorf("the prompts are %v: %v", prompts, err)
	}
	got, err := c.GetPrompt(t.Context(), "all", "args-prompt", map[string]string{"city": "Paris", "state": "France"})
	if err != nil || len(got) == 0 {
		t.Errorf("the prompt is %v: %v", got, err)
	}
}
