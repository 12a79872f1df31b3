//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var configured = map[string]string{
	".reins/skills/x/SKILL.md": "---\nname: x\ndescription: finds the needle\n---\nFind it.\n",
	".mcp.json":                `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files-server"]}}}`,
}

func TestReins_AsksForTrustAndAboutServersInTheSession(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, nil, configured)
	s := emulate(t, cmd, 80, 24)
	s.sees(".reins/skills/x/SKILL.md: skill")
	s.answers("y")
	s.sees("npx -y files-server")
	s.answers("n")
	s.sends("/skills")
	s.sees("finds the needle")
	s.press("\x1b")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)

	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("asks first")
	s.sends("ping")
	s.sees("pong")
	for _, part := range []string{"trust the files", "outside the sandbox", "Reins asks"} {
		if strings.Contains(s.written(), part) {
			t.Errorf("the second start shows %q, want no question", part)
		}
	}
	s.press("\x11")
	s.ends(0)
}

func TestReins_AsksAgainForTrustWhenFilesChange(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, nil, configured)
	s := emulate(t, cmd, 80, 24)
	s.sees("trust the files")
	s.answers("n")
	s.sees("untrusted project, ignoring")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)

	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("asks first")
	s.sends("ping")
	s.sees("pong")
	if strings.Contains(s.written(), "trust the files") {
		t.Error("the user is asked again about the same files")
	}
	s.press("\x11")
	s.ends(0)

	if err := os.WriteFile(filepath.Join(cmd.Dir, ".mcp.json"), []byte(`{"mcpServers": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("trust the files")
	s.press("\x11")
	s.ends(0)
	s = emulate(t, again(cmd, cmd.Dir), 80, 24)
	s.sees("trust the files") // which was not answered
	s.press("\x11")
	s.ends(0)
}
