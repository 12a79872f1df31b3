package mcpsuite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tools is the directory of scripts/mcp-tools.sh.
var tools = os.Getenv("REINS_MCP_TOOLS")

// asClient is set in the suite's client process.
const asClient = "REINS_MCP_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(asClient) != "" {
		os.Exit(runClient(os.Args[len(os.Args)-1]))
	}
	if tools != "" {
		code, done, err := isolate()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		if done || err != nil {
			os.Exit(max(code, 0))
		}
	}
	os.Exit(m.Run())
}

// node returns a command for an installed program, with the installed Node.
func node(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if tools == "" {
		t.Skip("REINS_MCP_TOOLS is not set; run make test-mcp")
	}
	bin := filepath.Join(tools, "node_modules", ".bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NO_COLOR=1")
	cmd.Dir = t.TempDir()
	return cmd
}

// check is one check in a scenario.
type check struct {
	ID          string `json:"id"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Message     string `json:"errorMessage"`
}

// scenarios returns the names of the scenarios that the suite lists under a title.
func scenarios(t *testing.T, title string) (names []string) {
	t.Helper()
	out, err := node(t, "conformance", "list").CombinedOutput()
	if err != nil {
		t.Fatalf("conformance list: %v\n%s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), title)
	list, _, _ := strings.Cut(rest, "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^  - (\S+)`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// results reads the checks of each scenario. Their files are in directories that begin with the scenario's name.
func results(t *testing.T, dir, prefix string) map[string][]check {
	t.Helper()
	all := map[string][]check{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(b, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`).ReplaceAllString(filepath.ToSlash(name), "")
		all[strings.TrimPrefix(name, prefix)] = checks
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// judge requires of each scenario that a check succeeds, and that none fails or warns.
func judge(t *testing.T, wanted []string, got map[string][]check, output []byte) {
	t.Helper()
	if len(wanted) == 0 {
		t.Fatalf("there are no scenarios:\n%s", output)
	}
	passed := 0
	for _, name := range wanted {
		t.Run(name, func(t *testing.T) {
			good := 0
			for _, c := range got[name] {
				switch c.Status {
				case "SUCCESS":
					good++
				case "FAILURE", "WARNING":
					t.Errorf("%s: %s: %s: %s", c.Status, c.ID, c.Description, c.Message)
				}
			}
			if good == 0 {
				t.Error("no check succeeded")
			}
			passed += good
		})
	}
	t.Logf("%d scenarios, %d checks succeeded", len(wanted), passed)
	for name := range got {
		if !slices.Contains(wanted, name) {
			t.Errorf("the scenario %s is not known", name)
		}
	}
}

// polling is a scenario about what protocol version 2025-11-25 added. The suite negotiates that version, and then sends
// 2025-03-26 with its requests, for which the SDK does not send the new events. So it only warns.
const polling = "server-sse-polling"

// TestServer_PassesAllScenarios runs all server scenarios, pending scenarios too.
func TestServer_PassesAllScenarios(t *testing.T) {
	wanted := scenarios(t, "Server scenarios")
	dir := t.TempDir()
	out, err := node(t, "conformance", "server", "--url", startServer(t, nil), "--suite", "all", "--output-dir", dir).CombinedOutput()
	if err != nil {
		t.Errorf("conformance: %v\n%s", err, out)
	}
	got := results(t, dir, "server-")
	for _, c := range got[polling] {
		if c.Status == "FAILURE" {
			t.Errorf("%s: %s", polling, c.Message)
		}
	}
	delete(got, polling)
	judge(t, slices.DeleteFunc(wanted, func(name string) bool { return name == polling }), got, out)
}

// TestServer_PassesPollingWithTheNegotiatedVersion runs the scenario with requests in the version that it negotiated.
func TestServer_PassesPollingWithTheNegotiatedVersion(t *testing.T) {
	dir := t.TempDir()
	url := startServer(t, func(r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") == "2025-03-26" {
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
	})
	out, err := node(t, "conformance", "server", "--url", url, "--scenario", polling, "--output-dir", dir).CombinedOutput()
	if err != nil {
		t.Errorf("conformance: %v\n%s", err, out)
	}
	judge(t, []string{polling}, results(t, dir, "server-"), out)
}
