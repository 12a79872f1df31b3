package fileindex

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// indexOf returns the index of files.
func indexOf(list ...string) *Index {
	x := &Index{}
	for _, p := range list {
		x.Add(p)
	}
	return x
}

// repository returns the index of many files, as a large repository has them.
func repository(n int) *Index {
	x := &Index{}
	for i := range n {
		x.Add(fmt.Sprintf("services/team-%d/internal/component%d/handler_%d_test.go", i%40, i%2000, i))
	}
	x.Finish()
	return x
}

func TestIndex_FindsTheSameForAQueryTypedKeyByKey(t *testing.T) {
	part := rapid.StringMatching(`[a-cA-C_.]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		var list []string
		for range rapid.IntRange(0, 30).Draw(t, "files") {
			list = append(list, strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "path"), "/"))
		}
		query := rapid.StringMatching(`[a-cA-C_./]{1,5}`).Draw(t, "query")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		keyByKey := indexOf(list...)
		var got []Match
		for i := 1; i <= len(query); i++ {
			got = keyByKey.Find(query[:i], limit)
		}
		if want := indexOf(list...).Find(query, limit); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", query, list, got, want)
		}
		for _, f := range got {
			if !hasLetters([]byte(strings.ToLower(f.Path)), []byte(strings.ToLower(strings.TrimPrefix(query, "./")))) {
				t.Fatalf("%q finds %q", query, f.Path)
			}
		}
	})
}

func TestIndex_FindsAnyOf60000Files(t *testing.T) {
	x := repository(60_000)
	for _, i := range []int{0, 1, 49_999, 50_000, 50_001, 59_999} {
		want := fmt.Sprintf("services/team-%d/internal/component%d/handler_%d_test.go", i%40, i%2000, i)
		if got := x.Find(fmt.Sprintf("handler_%d_", i), 5); len(got) == 0 || got[0].Path != want {
			t.Errorf("file %d is not found: %v", i, got)
		}
	}
	if x.Files() != 60_000 {
		t.Errorf("the index has %d files", x.Files())
	}
}

func TestIndex_FindsWhatWasAddedMeanwhile(t *testing.T) {
	x := indexOf("a/first.go")
	var adding sync.WaitGroup
	adding.Go(func() {
		for i := range 5000 {
			x.Add(fmt.Sprintf("b/file%d.go", i))
		}
	})
	x.Find("f", 10)
	x.Find("file", 10)
	adding.Wait()
	if got := x.Find("file4999", 1); len(got) != 1 || got[0].Path != "b/file4999.go" {
		t.Errorf("found %v", got)
	}
	if got := x.Find("file4999.", 1); len(got) != 1 {
		t.Errorf("found %v for a longer query", got)
	}
}

func TestIndex_RanksNamesBeforePathsBeforeLetters(t *testing.T) {
	x := indexOf(
		"a/tool.go", "tool/a.go", "internal/mytool.go", "internal/my_tool.go", "internal/MyTool.go", "t/o/o/l", "TOOLS.md", "x/tool",
	)
	var got []string
	for _, f := range x.Find("tool", 20) {
		got = append(got, fmt.Sprint(f.Path, map[bool]string{true: " weak"}[f.Weak]))
	}
	want := []string{
		"x/tool", "tool/", "TOOLS.md", "a/tool.go", "internal/MyTool.go", "internal/my_tool.go", "internal/mytool.go", "tool/a.go",
		"t/o/o/l weak",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
