package local

import (
	"errors"
	"fmt"

	"github.com/reins-agent/reins/env"
)

// hasTerminal does not matter here.
func hasTerminal() bool { return false }

// terminalPlumbing refuses: terminals are not supported here.
func terminalPlumbing(env.Command) (*plumbing, error) {
	return nil, fmt.Errorf("a terminal for a command on Windows: %w", errors.ErrUnsupported)
}
