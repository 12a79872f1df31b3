package prompt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"text/template"
)

func TestRender_IsLikeTextTemplate(t *testing.T) {
	names := strings.Fields("Read ReadMany Write Edit Patch Delete Grep Glob List Shell Output Input Stop Plan Timeout Native Freeform")
	for _, family := range []string{"openai", "anthropic", "gemini", "generic", "lean"} {
		text, err := instructionFiles.ReadFile("instructions/" + family + ".md")
		if err != nil {
			t.Fatal(err)
		}
		want := template.Must(template.New(family).Option("missingkey=error").Parse(string(text)))
		for n := range 300 {
			words := map[string]string{}
			for _, name := range names {
				if words[name] = ""; n == 0 || rand.IntN(2) == 0 {
					words[name] = "<" + name + ">"
				}
			}
			var b strings.Builder
			if err := want.Execute(&b, words); err != nil {
				t.Fatal(err)
			}
			if got := render(string(text), words); got != b.String() {
				t.Fatalf("%s with %v: got\n%s\nwant\n%s", family, words, got, b.String())
			}
		}
	}
}
