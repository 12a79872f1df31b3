//go:build !linux && !darwin

package search

import "io/fs"

// changeOf returns zeros: the platform's file information has neither.
func changeOf(fs.FileInfo) (changed int64, inode uint64) { return 0, 0 }
