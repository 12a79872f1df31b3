//go:build unix

package tools_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestWriteFile_CreatesTheFileAndItsParents(t *testing.T) {
	r := newRig(t, tools.Config{})
	out := r.run("write_file", args{"file_path": "a/b/c.txt", "content": "x\ny"})
	if !out.OK() || out.Model != "Created a/b/c.txt: 3 bytes written." || out.Result.Fields["bytes_written"] != 3 || out.Result.Fields["created"] != true {
		t.Errorf("%+v", out)
	}
	if got := out.Result.Artifacts.FilesChanged; len(got) != 1 || got[0] != "a/b/c.txt" || r.read("a/b/c.txt") != "x\ny" {
		t.Errorf("changed %v", got)
	}
	if got := r.ok("write_file", args{"file_path": r.path("a/b/c.txt"), "content": ""}); got != "Replaced a/b/c.txt: 0 bytes written." {
		t.Errorf("got %q", got)
	}
}

func TestWriteFile_KeepsTheStyleOfTheFileItReplaces(t *testing.T) {
	r := newRig(t, tools.Config{})
	for _, c := range []struct{ name, old, content, want, note string }{
		{"crlf", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", "CRLF"},
		{"crlf given", "a\r\n", "x\r\ny\n", "x\r\ny\n", ""},
		{"cr", "a\rb\r", "x\ny\n", "x\ry\r", "CR line endings"},
		{"mixed", "a\r\nb\n", "x\ny\n", "x\ny\n", ""},
		{"no ending at all", "a", "x\n", "x\n", ""},
		{"bom", "\xEF\xBB\xBFa\n", "x\n", "\xEF\xBB\xBFx\n", "byte order mark"},
		{"bom given too", "\xEF\xBB\xBFa\n", "\uFEFFx\n", "\xEF\xBB\xBFx\n", "byte order mark"},
		{"utf-16", utf16LE("a\r\nb\r\n"), "é\nü", utf16LE("é\r\nü"), "UTF-16LE"},
		{"gbk", gbk(t, "中文的人\n"), "在这个时\n", gbk(t, "在这个时\n"), "GBK"},
		{"latin-1", "caf\xe9 au lait\n", "thé\n", "th\xe9\n", "8859-1"},
		{"binary", "\x00\x01\x02", "x\n", "x\n", ""},
		{"empty", "", "x\n", "x\n", ""},
	} {
		r.write(c.name, c.old)
		note := r.ok("write_file", args{"file_path": c.name, "content": c.content})
		if got := r.read(c.name); got != c.want || !strings.Contains(note, c.note) || strings.Contains(note, "keeps") != (c.note != "") {
			t.Errorf("%s: %q with the note %q, want %q", c.name, got, note, c.want)
		}
	}
}

func TestWriteFile_CharacterThatTheEncodingLacksLeavesTheFileAlone(t *testing.T) {
	r := newRig(t, tools.Config{})
	old := "caf\xe9 au lait\n"
	r.write("f", old)
	r.fails(tool.EditConflict, "write_file", args{"file_path": "f", "content": "日本\n"}, "not written", "delete the file first")
	if r.read("f") != old {
		t.Errorf("the file is %q", r.read("f"))
	}
}

func TestWriteFile_KeepsModeAndLink(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/run.sh", "old")
	if err := os.Chmod(r.path("d/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.link("d/run.sh", "link")
	r.link("d/later", "dangling")
	r.link("d", "dir")
	r.ok("write_file", args{"file_path": "link", "content": "new"})
	r.ok("write_file", args{"file_path": "dangling", "content": "made"})
	r.ok("write_file", args{"file_path": "dir/x", "content": "x"})
	info, err := os.Lstat(r.path("d/run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 || r.read("d/run.sh") != "new" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, l := range []string{"link", "dangling"} {
		if info, err := os.Lstat(r.path(l)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link: %v", l, err)
		}
	}
	if r.read("d/later") != "made" || r.read("d/x") != "x" {
		t.Error("the targets of the links were not written")
	}
	r.declares("write_file", args{"file_path": "dir/y", "content": ""}, "write "+r.path("d/y"))
	r.declares("write_file", args{"file_path": "dangling", "content": ""}, "write "+r.path("d/later"))
}

func TestWriteFile_WhatIsNoFileIsRefused(t *testing.T) {
	r := newRig(t, tools.Config{MaxFileSize: 1000})
	r.write("d/f", "x")
	if err := syscall.Mkfifo(r.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.fails(tool.NotAFile, "write_file", args{"file_path": "d", "content": "x"}, "directory")
	r.fails(tool.NotAFile, "write_file", args{"file_path": "new/", "content": "x"}, "directory")
	r.fails(tool.NotAFile, "write_file", args{"file_path": "pipe", "content": "x"})
	r.fails(tool.NotADirectory, "write_file", args{"file_path": "d/f/x", "content": "x"})
	r.write("big", strings.Repeat("x\r\n", 1000))
	if got := r.ok("write_file", args{"file_path": "big", "content": "x\n"}); !strings.Contains(got, "too large") || r.read("big") != "x\n" {
		t.Errorf("got %q", got)
	}
}
