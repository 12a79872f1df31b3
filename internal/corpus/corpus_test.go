package corpus_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
)

func TestCorpus_IsReadFromWhereTheVariableSays(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("REINS_CORPUS", dir)
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if filepath.Ext(name) != ".gz" {
			_, _ = f.WriteString(text)
			return
		}
		z := gzip.NewWriter(f)
		defer z.Close()
		_, _ = z.Write([]byte(text))
	}
	write("edit/cases.json", `[{"id":"a"}]`)
	write("open/traffic/toy.jsonl.gz", "{\"id\":\"one\"}\n\n{\"id\":\"two\"}")
	var cases []struct{ ID string }
	corpus.JSON(t, &cases, "edit", "cases.json")
	if len(cases) != 1 || cases[0].ID != "a" {
		t.Errorf("the cases are %v", cases)
	}
	var ids []string
	for _, x := range corpus.Traffic[struct{ ID string }](t, "toy") {
		ids = append(ids, x.ID)
	}
	if !slices.Equal(ids, []string{"one", "two"}) {
		t.Errorf("the exchanges are %v", ids)
	}
}

func TestCorpus_ATestWithoutItIsSkipped(t *testing.T) {
	t.Setenv("REINS_CORPUS", filepath.Join(t.TempDir(), "none"))
	skipped := false
	t.Run("inner", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		corpus.Path(t, "edit")
		t.Error("what is missing was found")
	})
	if !skipped {
		t.Error("the test was not skipped")
	}
}
