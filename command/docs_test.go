package command_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

var update = flag.Bool("update", false, "rewrite docs/slash-commands.md")

const (
	docs  = "../docs/slash-commands.md"
	table = "| command | does | |\n|---|---|---|\n"
)

// The table of the page is written from the registry.
func TestDocs_ListTheCommands(t *testing.T) {
	list, err := newRig(t, true).Commands(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range list {
		if c.Source != session.SourceBuiltin {
			continue
		}
		also := ""
		if len(c.Aliases) > 0 {
			also = "also `/" + strings.Join(c.Aliases, "`, `/") + "`"
		}
		usage := strings.ReplaceAll(strings.TrimSpace("/"+c.Name+" "+c.Arguments), "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", usage, c.Summary, also)
		if n := show.Width(c.Summary); n > 80 || strings.HasSuffix(c.Summary, ".") {
			t.Errorf("/%s: the summary has %d columns, or ends with a period", c.Name, n)
		}
	}
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	head, old, ok := strings.Cut(string(page), table)
	if !ok {
		t.Fatalf("%s has no table of commands", docs)
	}
	old, tail, _ := strings.Cut(old, "\n\n")
	if *update {
		if err := os.WriteFile(docs, []byte(head+table+b.String()+"\n"+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old+"\n", b.String()); diff != "" {
		t.Errorf("%s differs from the registry; run go test ./command -run Docs -update (-page +registry):\n%s", docs, diff)
	}
}
