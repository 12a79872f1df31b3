package patch

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPlan10MB updates a file of 10 MB: with an exact match, with the loosest match, without a match,
// and in the worst case for a search by lines.
func BenchmarkPlan10MB(b *testing.B) {
	var file strings.Builder
	for i := 0; file.Len() < 10<<20; i++ {
		fmt.Fprintf(&file, "\tvalue%d := compute(%d, \"name\") // step %d\n", i, i*7, i)
	}
	text := file.String()
	same := strings.Repeat("\tsame line\n", 10<<20/11)
	line := "value150000 := compute(1050000, \"name\") // step 150000\n"
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "@@\n-\tvalue%d := compute(%d, \"name\") // step %d\n+\tchanged\n", i*190, i*190*7, i*190)
	}
	for _, c := range []struct {
		name, content, hunks string
		fails                bool
	}{
		{"exact", text, "@@\n-\t" + line + "+new\n", false},
		{"crlf", strings.ReplaceAll(text, "\n", "\r\n"), "@@\n-\t" + line + "+new\n", false},
		{"loose", text, "@@\n-" + strings.ReplaceAll(line, `"`, "”") + "+new\n", false},
		{"thousand-hunks", text, many.String(), false},
		{"missing", text, "@@\n-\t" + line + "-missing\n+new\n", true},
		{"missing-same-lines", same, "@@\n" + strings.Repeat("-\tsame line\n", 5000) + "-other\n+new\n", true},
		{"several-same-lines", same, "@@\n" + strings.Repeat("-\tsame line\n", 5000) + "+new\n", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			files := everywhere(c.content)
			b.ReportAllocs()
			for b.Loop() {
				p, err := Parse(update(c.hunks))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Plan(files, Options{}); (err != nil) != c.fails {
					b.Fatal(err)
				}
			}
		})
	}
}
