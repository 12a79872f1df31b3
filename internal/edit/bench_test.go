package edit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/textfile"
)

// bigFile returns about 10 MB of source code, every line different.
func bigFile() string {
	var out strings.Builder
	for i := 0; out.Len() < 10<<20; i++ {
		fmt.Fprintf(&out, "\tvalue%d := compute(%d, \"name\") // step %d\n", i, i*7, i)
		if i%10 == 9 {
			out.WriteString("}\n\n")
		}
	}
	return out.String()
}

// BenchmarkReplace10MB edits a file of 10 MB. The target is 50 ms for an edit, and the same order of
// magnitude for text that is not found.
func BenchmarkReplace10MB(b *testing.B) {
	text := bigFile()
	utf16le, err := textfile.UTF16LE.Encode("\ufeff" + text)
	if err != nil {
		b.Fatal(err)
	}
	chinese := strings.ReplaceAll(text, "step", "步骤")
	gbk, err := textfile.GBK.Encode(chinese)
	if err != nil {
		b.Fatal(err)
	}
	old := "\tvalue150000 := compute(1050000, \"name\") // step 150000\n\tvalue150001 :="
	same := strings.Repeat("\tsame line\n", 10<<20/11)
	letters := strings.Repeat("a", 10<<20)
	cases := []struct {
		name     string
		content  []byte
		old, new string
		all, err bool
	}{
		{"exact", []byte(text), old, "changed", false, false},
		{"crlf", []byte(strings.ReplaceAll(text, "\n", "\r\n")), old, "changed\nhere", false, false},
		{"utf8-chinese", []byte(chinese), "value150000 := compute(", "changed(", false, false},
		{"utf16", utf16le, old, "changed", false, false},
		{"gbk", gbk, "value150000 := compute(", "changed(", false, false},
		{"all-300k", []byte(text), ":= compute", "= calculate", true, false},
		{"all-3M", []byte(text), "e", "E!", true, false},
		{"whitespace", []byte(text), "value150000  := compute(1050000, \"name\") // step 150000", "changed", false, false},
		{"lookalike", []byte(strings.Replace(text, `(1050000, "name")`, `(1050000, “name”)`, 1)), `(1050000, "name")`, "()", false, false},
		{"absent", []byte(text), "no such\ntext anywhere\nin the file", "x", false, true},
		{"absent-known-lines", []byte(text), "\tvalue7 := compute(49, \"name\") // step 7\nmissing\n}\n", "x", false, true},
		{"absent-same-lines", []byte(same), strings.Repeat("same line\n", 5000) + "other\n", "x", false, true},
		{"absent-one-letter", []byte(letters), strings.Repeat("a", 5000) + "b", "x", false, true},
		{"not-unique-same-lines", []byte(same), strings.Repeat("  same line\n", 5000), "x", false, true},
		{"not-unique-one-letter", []byte(letters), strings.Repeat("a", 5000), "x", false, true},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := edit.Replace(c.content, c.old, c.new, c.all)
				if (err != nil) != c.err {
					b.Fatal(err)
				}
			}
		})
	}
	// The floor: copying the file with one replacement and no checks.
	b.Run("peer-bytes.Replace", func(b *testing.B) {
		content, from, to := []byte(text), []byte(old), []byte("changed")
		for b.Loop() {
			bytes.Replace(content, from, to, 1)
		}
	})
}
