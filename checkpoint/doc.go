// Package checkpoint takes snapshots of a whole workspace, so that what an agent did to it can be
// looked at and taken back. It does not need git, and where there is git it does not touch it:
// nothing named .git is recorded, written or removed.
//
// # What a checkpoint holds
//
// [Store.Take] records every regular file, symbolic link and directory of the workspace that ignore
// files do not exclude, whoever made it: untracked files and the work of shell commands too. Ignore
// files are those that package search heeds (.gitignore, .ignore, .rgignore, info/exclude and the
// user's own), and .gitignore counts without a repository. A file that git tracks although an
// ignore file names it is recorded as well, if the workspace belongs to the repository (submodules
// are others), but Restore does not remove it: it may have been there, ignored, before. Recorded are content, permission bits and the targets of
// links, byte for byte; empty directories are recorded as well. Owners, times, extended attributes
// and hard links are not, and devices, FIFOs and sockets are passed over.
//
// # How it is stored
//
// The workspace is a tree in the manner of git: a directory is the list of its entries with the
// hashes of their contents, a checkpoint is the hash of its root, and what did not change is shared
// by all checkpoints. The new objects of one checkpoint form one file, a pack, which is on disk
// under its final name before the record that makes the checkpoint exist. So a crash leaves a
// checkpoint whole or leaves none, and a checkpoint costs two files however much changed. Every
// object is checked against its hash when it is read; [Store.Verify] checks them all.
//
// Files are not read again if size, times and inode are those of the last time, which an index
// beside the packs remembers. A file that was changed so recently that a further change might not
// move its times is not trusted but read again. The index is a cache: losing it costs time only.
//
// # How it is restored
//
// [Store.Restore] first takes a checkpoint of the present, which its result names, so undo can be
// undone by restoring that. Nothing is overwritten or removed that is not in it. Each file is
// replaced atomically. Files that came into being since are removed, if neither the ignore rules
// before nor those after exclude them. A directory that still holds something is kept. What could
// not be restored is listed in an [IncompleteError], and the rest is done. No symbolic link is
// followed on the way. A caller that says how it left the workspace can have what others changed
// since then kept, or be told of it before anything is restored.
//
// A Store keeps nothing in memory or open between calls. One lock per store makes all its calls,
// also those of other processes, wait for each other.
package checkpoint
