//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Git writes some of its files through links: messages, the index and the reflog. A link that a command leaves in a
// repository would make the user's next git command write, outside the box, where the link leads.

// maxLogs limits the reflog files that are examined.
const maxLogs = 2_000

// blockLinks removes the links that commands have made where git writes.
func (b *Box) blockLinks() {
	if b.config.Mode != WorkspaceWrite || b.since.IsZero() {
		return
	}
	for _, git := range b.layout.repositories() {
		for _, path := range append(entriesOf(git), entriesOf(filepath.Join(git, "info"))...) {
			b.blockLink(path)
		}
		looked := 0
		_ = filepath.WalkDir(filepath.Join(git, "logs"), func(path string, d fs.DirEntry, err error) error {
			if looked++; err != nil || looked > maxLogs {
				return filepath.SkipAll
			}
			b.blockLink(path)
			return nil
		})
	}
}

// repositories returns the git directories that commands can write.
func (l layout) repositories() (list []string) {
	for _, path := range l.protected {
		if git := filepath.Dir(path); filepath.Base(path) == "config" && l.open(filepath.Join(git, "index")) {
			list = append(list, git)
		}
	}
	for _, dir := range l.writable {
		if filepath.Base(filepath.Dir(dir)) == "worktrees" && inRepository(dir) { // belongs to a linked worktree
			list = append(list, dir)
		}
	}
	return list
}

// blockLink removes a link unless it is older than the commands that are or were running.
func (b *Box) blockLink(path string) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return
	}
	if time.Unix(st.Ctim.Unix()).Before(b.since.Add(-coarseTime)) {
		return
	}
	b.block(path)
}
