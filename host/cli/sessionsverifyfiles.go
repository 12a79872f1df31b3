package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/coding"
)

// keptVerified is what a look at all checkpoints found, in stores.
type keptVerified struct{ all, bad int }

func (k keptVerified) String() string {
	if k.all == 0 {
		return ""
	}
	return ", and what is kept for undo of " + plural(k.all, "workspace")
}

// storeJSON is what a look at one checkpoint store found, as JSON.
type storeJSON struct {
	Checkpoints string   `json:"checkpoints"` // the directory of the store
	OK          bool     `json:"ok"`
	Problems    []string `json:"problems"`
}

// run looks at the checkpoints of all directories.
func (k *keptVerified) run(ctx context.Context, h Host, asJSON bool) error {
	state, err := stateDir(h)
	if err != nil {
		return err
	}
	root := filepath.Join(state, coding.CheckpointsDir)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("what is kept for undo cannot be listed: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		found := storeJSON{Checkpoints: e.Name(), Problems: []string{}}
		faults, err := checkpoint.Verify(ctx, filepath.Join(root, e.Name()))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			faults = append(faults, err)
		}
		for _, f := range faults {
			found.Problems = append(found.Problems, f.Error())
		}
		k.all++
		if found.OK = len(faults) == 0; !found.OK {
			k.bad++
		}
		if err := found.print(h, asJSON); err != nil {
			return err
		}
	}
	return nil
}

func (s storeJSON) print(h Host, asJSON bool) error {
	if asJSON {
		return printJSON(h.Stdout, s)
	}
	for _, p := range s.Problems {
		if _, err := fmt.Fprintf(h.Stdout, "%s/%s: %s\n", coding.CheckpointsDir, s.Checkpoints, inLine(p)); err != nil {
			return err
		}
	}
	return nil
}
