package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/checkpoint"
)

// A checkpoint brings back the files of a directory.
func ExampleStore_Restore() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	work, file := filepath.Join(dir, "work"), filepath.Join(dir, "work", "notes.txt")
	_ = os.Mkdir(work, 0o755)
	_ = os.WriteFile(file, []byte("mine"), 0o644)

	ctx := context.Background()
	store, err := checkpoint.Open(checkpoint.Config{Dir: work, Store: filepath.Join(dir, "checkpoints")})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, _, err := store.Take(ctx, "before the agent")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = os.WriteFile(file, []byte("gone"), 0o644)
	_, err = store.Restore(ctx, id, checkpoint.RestoreOptions{})
	b, _ := os.ReadFile(file)
	fmt.Println(string(b), err)
	// Output: mine <nil>
}
