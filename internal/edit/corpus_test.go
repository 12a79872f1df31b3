package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/edit"
)

type corpusCase struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Class      string  `json:"class"`
	Content    *string `json:"content"`
	OldString  string  `json:"old_string"`
	NewString  string  `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
	Expect     struct {
		OK       bool    `json:"ok"`
		Error    string  `json:"error"`
		Content  *string `json:"content"`
		Contains string  `json:"contains"`
	} `json:"expect"`
}

// corpusKinds translates the corpus's error names.
var corpusKinds = map[string]edit.Kind{
	"identical":        edit.NoChange,
	"empty_old_string": edit.EmptyOld,
	"not_found":        edit.NotFound,
	"multiple":         edit.NotUnique,
	// Without a file no text can be found; the caller distinguishes the two.
	"file_not_found": edit.NotFound,
}

func loadCorpus(t *testing.T) (cases []corpusCase) {
	t.Helper()
	corpus.JSON(t, &cases, "edit", "cases.json")
	return cases
}

func TestEdit_CorpusCases(t *testing.T) {
	for _, c := range loadCorpus(t) {
		t.Run(c.Class+"/"+c.ID, func(t *testing.T) {
			if c.Class == "fuzzy-typo" {
				// A typo is refused on purpose.
				_, err := replace(c)
				wantKind(t, err, edit.NotFound)
				return
			}
			got, err := replace(c)
			if !c.Expect.OK {
				wantKind(t, err, corpusKinds[c.Expect.Error])
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if c.Expect.Content != nil && string(got.Content) != *c.Expect.Content {
				t.Errorf("%s: got %q, want %q", c.Name, got.Content, *c.Expect.Content)
			}
			if !strings.Contains(string(got.Content), c.Expect.Contains) {
				t.Errorf("%s: got %q, want it to contain %q", c.Name, got.Content, c.Expect.Contains)
			}
			if (got.Match == edit.Exact) != (got.Note() == "") {
				t.Errorf("%s: note %q for a match that is %s", c.Name, got.Note(), got.Match)
			}
		})
	}
}

func replace(c corpusCase) (edit.Result, error) {
	var content []byte
	if c.Content != nil {
		content = []byte(*c.Content)
	}
	return edit.Replace(content, c.OldString, c.NewString, c.ReplaceAll)
}

func wantKind(t *testing.T, err error, want edit.Kind) {
	t.Helper()
	var failure *edit.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got error %v, want kind %s", err, want)
	}
	if failure.Kind != want {
		t.Errorf("got kind %s, want %s: %v", failure.Kind, want, err)
	}
}
