//go:build !unix

package chatgpt

import "os"

// private returns an error for a file that someone else can read. On Windows, the user's profile directory is private.
func private(*os.File) error { return nil }
