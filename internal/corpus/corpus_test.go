package corpus_test

import (
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
)

func TestCorpus_REINS_CORPUSNamesItsDirectory(t *testing.T) {
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
	if corpus.IsSample(t) {
		t.Error("the sample is used although REINS_CORPUS names a directory")
	}
	var cases []struct{ ID string }
	corpus.JSON(t, &cases, "edit", "cases.json")
	if len(cases) != 1 || cases[0].ID != "a" {
		t.Errorf("got cases %v, want one with id a", cases)
	}
	if got, want := ids(t, "toy"), []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("got exchanges %v, want %v", got, want)
	}
}

func TestCorpus_SampleReplacesAMissingOne(t *testing.T) {
	t.Setenv("REINS_CORPUS", filepath.Join(t.TempDir(), "none"))
	if !corpus.IsSample(t) {
		t.Fatal("the sample is not used although there is no corpus")
	}
	for protocol, want := range map[string]string{
		"openai-chat": "chat-text", "openai-responses": "resp-text", "gemini": "gem-text",
		"anthropic-messages": "anth-text", "anthropic-vertex": "vertex-call", "bedrock-invoke": "bedrock-anthropic",
	} {
		if got := ids(t, protocol); !slices.Contains(got, want) {
			t.Errorf("%s: got exchanges %v, want %s among them", protocol, got, want)
		}
	}
	for name, want := range map[string]int{"edit/cases.json": 18, "apply_patch/manifest.json": 11} {
		var cases []struct{}
		if corpus.JSON(t, &cases, name); len(cases) != want {
			t.Errorf("%s has %d cases, want %d", name, len(cases), want)
		}
	}
}

// The sample is in every clone: it must stay small, and must name no real source.
func TestCorpus_SampleIsSmallAndInvented(t *testing.T) {
	var size int64
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size < 10_000 || size > 200_000 {
		t.Errorf("the sample has %d bytes, want 10,000 to 200,000", size)
	}
	t.Setenv("REINS_CORPUS", filepath.Join(t.TempDir(), "none"))
	for _, protocol := range []string{"openai-chat", "openai-responses", "gemini", "anthropic-messages", "anthropic-vertex", "bedrock-invoke"} {
		corpus.Exchanges(t, protocol, func(line []byte) {
			if !strings.Contains(string(line), `"source": {"repo": "reins (invented)"}`) {
				t.Errorf("%s: not marked as invented: %.100s", protocol, line)
			}
		})
	}
}

func ids(t *testing.T, protocol string) (ids []string) {
	t.Helper()
	for _, x := range corpus.Traffic[struct{ ID string }](t, protocol) {
		ids = append(ids, x.ID)
	}
	return ids
}
