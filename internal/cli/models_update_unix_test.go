//go:build unix

package cli

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

func TestModelsUpdate_APipeWithoutAWriterCanBeInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readSource(ctx, pipe); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
}
