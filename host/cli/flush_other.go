//go:build !linux

package cli

import "os"

// forgetTyped does nothing here: a line that was typed too early counts as an answer.
func forgetTyped(*os.File) {}
