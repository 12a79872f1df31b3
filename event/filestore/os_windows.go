package filestore

import "io/fs"

const openNonblock = 0

// syncDir does nothing, because NTFS journals names.
func syncDir(string) error { return nil }

// inode returns 0: the size and the time must do.
func inode(fs.FileInfo) uint64 { return 0 }
