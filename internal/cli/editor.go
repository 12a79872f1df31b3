package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// editFile opens a file in the user's editor and waits for it. The editor is a shell command, as in git.
func (h Host) editFile(ctx context.Context, path string) error {
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	editor := cmp.Or(h.Getenv("VISUAL"), h.Getenv("EDITOR"), fallback)
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path)
	if runtime.GOOS == "windows" {
		cmd = exec.CommandContext(ctx, editor, path)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.Stdin, h.Stdout, h.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s failed: %w; set EDITOR to another one", editor, err)
	}
	return nil
}

// editText lets the user edit a text in a temporary file with this name.
func (h Host) editText(ctx context.Context, name, text string) (string, error) {
	dir, err := os.MkdirTemp("", "reins-edit-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := h.editFile(ctx, path); err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	return string(b), err
}
