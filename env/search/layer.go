package search

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/reins-agent/reins/env"
)

// Why a file was not read to its end.
var (
	errTooBig = errors.New("file is above the size limit")
	errBinary = errors.New("file is binary")
)

// headSize is how much of a file is read before deciding whether the rest is worth reading.
const headSize = 64 << 10

// layer reaches the files of one environment. Paths are absolute, with slashes, and without one at
// the end: the root directory is "" here, that of a drive "C:".
type layer interface {
	// paths are the rules for the paths of queries.
	paths() env.Paths
	// abs makes a path of a query absolute.
	abs(path string) string
	// real resolves symbolic links where the layer can, so that ignore files are looked for in
	// the directories above the real place.
	real(path string) string
	// stat follows symbolic links.
	stat(ctx context.Context, path string) (entry, error)
	// openDir and readFile follow symbolic links.
	openDir(ctx context.Context, path string) (directory, error)
	readFile(ctx context.Context, path string, buf []byte, limit int64) ([]byte, error)
	// globals are the ignore rules that the user has for all repositories.
	globals() rules
}

// directory is an open directory. Names are those of entries that list returned, and symbolic
// links are not followed.
type directory interface {
	// list gives the entries in any order. It may use room as working memory.
	list(ctx context.Context, room []byte) ([]entry, error)
	open(ctx context.Context, name string) (directory, error)
	// read gives the whole file, in buf if it fits. It fails with errTooBig if the file is larger
	// than limit, and may fail with errBinary if its head is binary.
	read(ctx context.Context, name string, buf []byte, limit int64) ([]byte, error)
	stat(ctx context.Context, name string) (entry, error)
	close()
}

// entry is a file in a directory. Its details are set by stat, and by list where they come free.
type entry struct {
	name    string
	details *details
	kind    kind
}

type details struct {
	size    int64
	modTime time.Time
	mode    fs.FileMode
	// changed and inode tell versions of a file apart; they are 0 where the layer does not know.
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
