package mcpsuite

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// binary builds the reins binary.
func binary(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "reins")
	if out, err := exec.Command("go", "build", "-o", name, "../../cmd/reins").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return name
}

// workspace returns a directory with a file, and the variables for a user without configuration.
func workspace(t *testing.T) (dir string, vars []string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"HOME=" + home, "REINS_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "REINS_SANDBOX=off"}
}

// inspection is the inspector's output.
type inspection struct {
	Tools []struct {
		Name        string
		Annotations struct{ ReadOnlyHint bool }
	}
	Content []struct{ Type, Text string }
	IsError bool
}

// inspect lists the tools, calls one, and tries a call that is refused. The arguments name the server.
func inspect(t *testing.T, dir string, vars []string, server ...string) {
	ask := func(method ...string) (got inspection) {
		t.Helper()
		cmd := node(t, "inspector", slices.Concat([]string{"--cli"}, method, server)...)
		cmd.Env = append(cmd.Env, vars...)
		out, err := cmd.Output()
		if e := json.NewDecoder(strings.NewReader(string(out))).Decode(&got); e != nil {
			t.Fatalf("inspector %v: %v, %v\n%s", method, err, e, out)
		}
		return got
	}
	names := map[string]bool{}
	for _, tool := range ask("--method", "tools/list").Tools {
		names[tool.Name] = tool.Annotations.ReadOnlyHint
	}
	if reads, offered := names["read_file"]; !reads || !offered || names["shell"] {
		t.Errorf("the tools and whether they only read: %v", names)
	}
	read := ask("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "file_path=a.txt")
	if read.IsError || len(read.Content) != 1 || !strings.Contains(read.Content[0].Text, "hello") {
		t.Errorf("read_file: %+v, want the file", read)
	}
	refused := ask("--method", "tools/call", "--tool-name", "write_file", "--tool-arg", "file_path=b.txt", "content=x")
	_, err := os.Stat(filepath.Join(dir, "b.txt"))
	if !refused.IsError || len(refused.Content) != 1 || !strings.Contains(refused.Content[0].Text, "needs approval") || err == nil {
		t.Errorf("write_file: %+v, file written: %v; want a refusal", refused, err == nil)
	}
}

func TestInspector_OverStdio(t *testing.T) {
	node(t, "inspector")
	dir, vars := workspace(t)
	inspect(t, dir, vars, "--transport", "stdio", "--", binary(t), "mcp", "serve", "--cwd", dir)
}

func TestInspector_OverHTTP(t *testing.T) {
	node(t, "inspector")
	dir, vars := workspace(t)
	cmd := exec.Command(binary(t), "mcp", "serve", "--cwd", dir, "--http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), vars...)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("reins mcp serve: %v", err)
		}
	}()
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(http://\S+), bearer token: (\S+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("reins mcp serve printed %q, want the address and the token", line)
	}
	go func() { _, _ = lines.WriteTo(os.Stderr) }()
	inspect(t, dir, vars, "--transport", "http", "--server-url", m[1], "--header", "Authorization: Bearer "+m[2])
	wrong := node(t, "inspector", "--cli", "--method", "tools/list", "--transport", "http", "--server-url", m[1], "--header", "Authorization: Bearer wrong")
	wrong.Env = append(wrong.Env, vars...)
	if out, err := wrong.Output(); err == nil {
		t.Errorf("with a wrong token the inspector gets %s", out)
	}
}
