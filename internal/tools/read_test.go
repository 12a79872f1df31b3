//go:build unix

package tools_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

func utf16LE(s string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

func gbk(t *testing.T, s string) string {
	t.Helper()
	out, err := simplifiedchinese.GBK.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadFile_NumbersTheLinesOfEveryEncodingAndEnding(t *testing.T) {
	r := newRig(t, tools.Config{})
	for name, content := range map[string]string{
		"lf": "eins\nzwei\n", "no final newline": "eins\nzwei", "crlf": "eins\r\nzwei\r\n", "cr": "eins\rzwei\r",
		"utf-8 bom": "\xEF\xBB\xBFeins\nzwei\n", "utf-16": utf16LE("eins\r\nzwei\r\n"),
	} {
		r.write(name, content)
		if got := r.ok("read_file", args{"file_path": name}); got != "1 | eins\n2 | zwei\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	r.write("gbk", gbk(t, "中文的人\n在这个时\n"))
	out := r.run("read_file", args{"file_path": "gbk"})
	if got := tool.String(out.Result.Output); got != "1 | 中文的人\n2 | 在这个时\n" || out.Result.Fields["encoding"] != "GBK" {
		t.Errorf("gbk: %q, %v", got, out.Result.Fields)
	}
}

func TestReadFile_OffsetAndLimitChooseLines(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("f", strings.Repeat("x\n", 2500))
	r.write("empty", "")
	for _, c := range []struct {
		args        args
		first, last string
	}{
		{args{"offset": 2499}, "2499 | x", "2500 | x"},
		{args{"offset": 3, "limit": 2}, "3 | x", "[Showing lines 3 to 4 of 2500. Use offset=5 to continue.]"},
		{args{}, "1 | x", "[Showing lines 1 to 2000 of 2500. Use offset=2001 to continue.]"},
		{args{"offset": 2500, "limit": int64(1) << 62}, "2500 | x", "2500 | x"},
	} {
		c.args["file_path"] = "f"
		lines := strings.Split(strings.TrimSuffix(r.ok("read_file", c.args), "\n"), "\n")
		if lines[0] != c.first || lines[len(lines)-1] != c.last {
			t.Errorf("%v: from %q to %q", c.args, lines[0], lines[len(lines)-1])
		}
	}
	r.fails(tool.ValidationError, "read_file", args{"file_path": "f", "offset": 2501}, "after the end", "2500 lines")
	r.fails(tool.ValidationError, "read_file", args{"file_path": "f", "offset": -1}, "negative")
	if got := r.ok("read_file", args{"file_path": "empty"}); got != "(the file is empty)" {
		t.Errorf("an empty file reads %q", got)
	}
}

func TestReadFile_LongLineIsCutForTheModelOnly(t *testing.T) {
	r := newRig(t, tools.Config{})
	for _, size := range []int{100 << 10, 10 << 20} {
		r.write("long", strings.Repeat("x", size))
		out := r.run("read_file", args{"file_path": "long"})
		if !out.OK() || out.Result.Output.Len() != int64(size)+len64("1 | \n") || len(out.Model) > 51_000 || !strings.Contains(out.Model, "characters were removed") {
			t.Errorf("%d bytes: output %d, model %d", size, out.Result.Output.Len(), len(out.Model))
		}
	}
}

func len64(s string) int64 { return int64(len(s)) }

func TestReadFile_WhatIsNoTextFileIsRefusedHelpfully(t *testing.T) {
	r := newRig(t, tools.Config{MaxFileSize: 1000})
	r.write("bin", "\x7fELF\x00\x01\x02\x03")
	r.write("big", strings.Repeat("x", 1001))
	r.write("d/f", "x")
	r.write("secret", "x")
	if err := syscall.Mkfifo(r.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.link("loop", "loop")
	r.fails(tool.BinaryFile, "read_file", args{"file_path": "bin"}, "bin cannot be read: the file is binary, not text (NUL byte at byte 4). Inspect it", "xxd")
	r.fails(tool.TooLarge, "read_file", args{"file_path": "big"}, "grep")
	r.fails(tool.NotAFile, "read_file", args{"file_path": "d"}, "List it")
	r.fails(tool.NotAFile, "read_file", args{"file_path": "pipe"}, "pipe")
	r.fails(tool.NotAFile, "read_file", args{"file_path": "/dev/zero"})
	r.fails(tool.FileNotFound, "read_file", args{"file_path": "nothing"}, "File not found: nothing", "by name")
	r.fails(tool.NotADirectory, "read_file", args{"file_path": "d/f/x"}, "Check the path")
	r.fails(tool.ValidationError, "read_file", args{"file_path": ""}, "empty")
	r.fails(tool.ValidationError, "read_file", args{"file_path": "a\x00b"}, "NUL")
	r.fails(tool.IOError, "read_file", args{"file_path": "loop"})
	if os.Getuid() != 0 {
		os.Chmod(r.path("secret"), 0)
		r.fails(tool.PermissionDenied, "read_file", args{"file_path": "secret"}, "Permission denied")
	}
}

func TestReadFile_ImagesAreForModelsThatSee(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("i.png", string(png))
	out := r.run("read_file", args{"file_path": "i.png"})
	if !out.OK() || len(out.Result.Images) != 1 || out.Result.Images[0].MIME != "image/png" || !strings.Contains(out.Model, "3×2") {
		t.Errorf("%+v", out)
	}
	call := r.request("read_file", args{"file_path": "i.png"})
	call.Vision = false
	if out := r.pipe.Run(t.Context(), call); out.OK() || out.Result.Error.Code != tool.UnsupportedMedia {
		t.Errorf("a model that cannot see gets %+v", out)
	}
}

func TestReadFile_DeclaresWhatALinkLeadsTo(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/f", "x")
	r.link("/etc", "etc")
	r.link("d/f", "in")
	r.link(r.path("nothing/yet"), "dangling")
	for p, want := range map[string]string{
		"etc/hostname": "/etc/hostname", "in": r.path("d/f"), "d/../d/f": r.path("d/f"), "../x": r.dir[:strings.LastIndex(r.dir, "/")] + "/x",
		"dangling": r.path("nothing/yet"), "etc/../d/f": r.path("d/f"),
	} {
		r.declares("read_file", args{"file_path": p}, "read "+want)
	}
	r.pipe.Policy = rules.Policy{}
	if out := r.run("read_file", args{"file_path": "etc/hostname"}); out.OK() || out.Result.Error.Code != tool.PermissionDenied {
		t.Errorf("a link out of the directory is read without asking: %+v", out)
	}
	if out := r.run("read_file", args{"file_path": "in"}); !out.OK() {
		t.Errorf("a link inside is not: %+v", out.Result.Error)
	}
}

func TestReadFile_ShowsTheTextOfAPDF(t *testing.T) {
	const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	pdf := "%PDF-1.7\n"
	for i, o := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 5 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
		"<< /Length 59 >> stream\nBT /F 12 Tf 72 700 Td (First) Tj 0 -20 Td (Second) Tj ET\nendstream", font,
	} {
		pdf += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	r := newRig(t, tools.Config{})
	r.write("a.pdf", pdf+"trailer << /Root 1 0 R >>\n%%EOF\n")
	r.write("none.pdf", "%PDF-1.7\nno pages\n")
	if out := r.run("read_file", args{"file_path": "a.pdf"}); !strings.Contains(out.Model, "1 | First") || !strings.Contains(out.Model, "2 | Second") {
		t.Errorf("got %q", out.Model)
	}
	if out := r.run("read_file", args{"file_path": "a.pdf", "offset": 2}); strings.Contains(out.Model, "First") || !strings.Contains(out.Model, "2 | Second") {
		t.Errorf("from line 2: got %q", out.Model)
	}
	if out := r.run("read_file", args{"file_path": "none.pdf"}); out.Result.Error == nil || out.Result.Error.Code != tool.BinaryFile {
		t.Errorf("got %q, want an error", out.Model)
	}
}
