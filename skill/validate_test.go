package skill

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/internal/corpus"
)

// The cases were written for this test; the verdicts come from skills-ref at commit 69ef37e.
func TestValid_AgreesWithTheReferenceValidator(t *testing.T) {
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Dir, Content string
		Valid              bool
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if got := validate(c.Content, c.Dir); (len(got) == 0) != c.Valid {
			t.Errorf("%s: valid %v, want %v: %v", c.Name, len(got) == 0, c.Valid, got)
		}
	}
	if len(cases) < 100 {
		t.Errorf("only %d cases", len(cases))
	}
}

type expected struct {
	Dir        string
	Valid      bool
	Properties map[string]any
}

func TestCorpus_EverySkillLoadsAndTheVerdictIsTheExpectedOne(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "skills"), "*", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var want expected
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(filepath.Dir(file), want.Dir)
		s, err := Load(dir)
		if err != nil {
			t.Errorf("%s does not load: %v", want.Dir, err)
			continue
		}
		if s.Name == "" || s.Description == "" {
			t.Errorf("%s: loaded without a name or a description: %+v", want.Dir, s)
		}
		reports, err := Lint(dir)
		if err != nil || len(reports) != 1 {
			t.Fatalf("%s: %v, %v", want.Dir, reports, err)
		}
		if reports[0].Valid != want.Valid {
			t.Errorf("%s: valid %v, want %v: %v", want.Dir, reports[0].Valid, want.Valid, reports[0].Findings)
		}
		for name, v := range want.Properties {
			got, err := json.Marshal(reports[0].Properties[name])
			wanted, werr := json.Marshal(v)
			if err != nil || werr != nil || string(got) != string(wanted) {
				t.Errorf("%s: %s: %s", want.Dir, name, cmp.Diff(string(wanted), string(got)))
			}
		}
	}
	if n := len(files); n < 53 && !corpus.IsSample(t) || n == 0 {
		t.Errorf("found %d skills, want 53", n)
	}
}
