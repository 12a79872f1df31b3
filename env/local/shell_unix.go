//go:build unix

package local

import (
	"fmt"
	"os/exec"
)

// findShell finds the program that runs command lines.
func findShell(want string) (string, error) {
	if want != "" {
		path, err := exec.LookPath(want)
		if err != nil {
			return "", fmt.Errorf("find the shell: %w", err)
		}
		return path, nil
	}
	for _, name := range []string{"/bin/bash", "bash", "/bin/sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	// Programs can still be run without a shell; a command line will fail and say why.
	return "/bin/sh", nil
}

func shellArgs(shell, line string) []string { return []string{shell, "-c", line} }
