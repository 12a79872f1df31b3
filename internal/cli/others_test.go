package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestOthers_TheTableOfTheDocumentationIsTrue(t *testing.T) {
	var b strings.Builder
	row := func(f otherFile, path string) {
		used := "yes"
		switch {
		case f.why != "":
			used = "no: " + f.why
		case f.trust:
			used = "in trusted projects"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", f.agent, path, f.what, used)
	}
	for _, f := range userOthers {
		row(f, "~/"+f.path)
	}
	for _, f := range projectOthers {
		row(f, f.path)
	}
	const path, head = "../../docs/other-agents.md", "| agent | file | contains | used |\n|---|---|---|---|\n"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), head)
	if !ok {
		t.Fatal("docs/other-agents.md has no table of files")
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	if strings.TrimLeft(table+"\n", "\n") == b.String() {
		return
	}
	if !*updateScripts {
		t.Fatalf("the table is not up to date; run: go test ./internal/cli -run TestOthers -update\n%s", b.String())
	}
	if err := os.WriteFile(path, []byte(before+head+b.String()+"\n"+cmp.Or(strings.TrimLeft(after, "\n"), strings.TrimLeft(rest, "\n"))), 0o644); err != nil {
		t.Fatal(err)
	}
}
