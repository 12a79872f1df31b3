//go:build unix

package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestMCPServe_CancellingCoderEndsItsCommands(t *testing.T) {
	cmd, in, out := serveMCP(t, "--coder", "--rules", "rules.json")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "rules.json"), []byte(`{"allow":["Bash"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(cmd.Dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"coder","arguments":{"PROMPT":%q,"cd":"."},"_meta":{"progressToken":"p"}}}
`, `call shell {"command":"echo $$ > fifo; sleep 600","timeout_ms":600000}`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(fifo) // waits for the command
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	checkGone(t, pid)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out)
	if code := exitCodeOf(t, cmd); code != 0 || !strings.Contains(string(rest), `"progressToken":"p"`) {
		t.Errorf("exit code %d, output %s", code, rest)
	}
}
