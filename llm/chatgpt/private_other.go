//go:build !unix

package chatgpt

import "os"

// private reports a file that someone else can read. On Windows, the profile directory of a user is private.
func private(*os.File) error { return nil }
