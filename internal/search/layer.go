package search

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitdir"
)

// Errors of reading a file that is skipped.
var (
	errTooBig = errors.New("file is above the size limit")
	errBinary = errors.New("file is binary")
)

// headSize is how many bytes are read to detect a binary file before the rest is read.
const headSize = 64 << 10

// layer accesses an environment's files. Paths are absolute, with slashes and without a trailing slash: the root
// directory is "", a drive's "C:".
type layer interface {
	// paths returns the rules for paths in queries.
	paths() env.Paths
	// abs makes a query's path absolute.
	abs(path string) string
	// real resolves symbolic links if the layer can. Ignore files are looked for above that path.
	real(path string) string
	// stat follows symbolic links.
	stat(ctx context.Context, path string) (entry, error)
	// openDir and readFile follow symbolic links.
	openDir(ctx context.Context, path string) (directory, error)
	readFile(ctx context.Context, path string, buf []byte, limit int64) ([]byte, error)
	// git reads the files of repositories, to find their roots.
	git(ctx context.Context) gitdir.Files
	// globals returns the user's ignore rules for all repositories.
	globals() rules
}

// directory is an open directory. Its methods take entry names and do not follow symbolic links.
type directory interface {
	// list returns the entries in any order. It may use room as a buffer.
	list(ctx context.Context, room []byte) ([]entry, error)
	open(ctx context.Context, name string) (directory, error)
	// read returns the whole file, in buf if it fits. It returns errTooBig if the file is larger
	// than limit, and may return errBinary if its head is binary.
	read(ctx context.Context, name string, buf []byte, limit int64) ([]byte, error)
	stat(ctx context.Context, name string) (entry, error)
	close()
}

// entry is a file in a directory. stat sets its details; list may do so.
type entry struct {
	name    string
	details *details
	kind    kind
}

type details struct {
	size    int64
	modTime time.Time
	mode    fs.FileMode
	// changed and inode distinguish a file's versions; 0 if unknown.
	changed int64
	inode   uint64
}

type kind uint8

const (
	otherKind kind = iota
	fileKind
	dirKind
	linkKind
)
