package localtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startGateway starts a gateway that needs an extra header in each request, and returns its address.
func startGateway(t *testing.T) string {
	t.Helper()
	program := os.Getenv("REINS_PORTKEY")
	if program == "" {
		t.Fatal("run make test-local-models, which installs the gateway, or set REINS_PORTKEY to its start-server.js")
	}
	cmd := exec.Command("node", "--require", "./gateway.cjs", program, "--headless")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	address, err := awaitAddress(output)
	if err != nil {
		t.Fatalf("the gateway ended: %v", err)
	}
	return address
}

func TestHeader_ReachesAGatewayThatNeedsOne(t *testing.T) {
	url := "http://" + startGateway(t) + "/v1"
	dir, file := project(t)
	args := []string{"run", "--yes", "--output", "stream-json", "--provider", "chat", "--base-url", url, "--model", "edit"}
	out := runReins(t, dir, append(args, task)...)
	if _, result := out.records(t); result.Error == nil || !strings.Contains(result.Error.Message, "x-portkey-provider") {
		t.Errorf("without the header got error %+v, want that of the gateway", result.Error)
	}
	args = append(args, "--header", "x-portkey-provider: ollama", "--header", "x-portkey-custom-host: "+shared.url(""))
	out = runReins(t, dir, append(args, task)...)
	if _, result := out.records(t); result.Outcome != "done" || result.Turns != 3 {
		t.Errorf("with the header got outcome %q after %d turns, error %+v", result.Outcome, result.Turns, result.Error)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "goodbye, world\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
}
