package feature

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"

	"github.com/reins-agent/reins/skill"
)

// TestSkills_FirstRequestGrowsByTheListingOnly measures the first request without skills, with the built-in ones, and
// with 50 more whose descriptions have the given length.
func TestSkills_FirstRequestGrowsByTheListingOnly(t *testing.T) {
	size := func(r *skill.Registry) int {
		g := newOpenRig(t)
		g.dir = filepath.Join(t.TempDir(), "w")
		if err := os.Mkdir(g.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		req := g.ask(g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r))}))
		n := len(req.Messages[0].Text()) + len(req.Messages[1].Text())
		for _, d := range req.Tools {
			b, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			n += len(b)
		}
		return n
	}
	bare := size(nil)
	for _, c := range []struct{ skills, chars, most int }{{0, 0, 2200}, {50, 100, 9000}, {50, 250, 16<<10 + 1200}, {50, 1024, 16<<10 + 1200}} {
		home := t.TempDir()
		for i := range c.skills {
			dir := filepath.Join(home, ".agents/skills", fmt.Sprintf("skill-%02d", i))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("---\nname: skill-%02d\ndescription: %s\n---\n%s", i, strings.Repeat("word ", c.chars/5), strings.Repeat("Do it.\n", 1000))
			if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := skill.Discover(skill.Options{Home: home, Dir: home})
		grown := size(r) - bare
		t.Logf("%d skills of the user with descriptions of %d characters: %d bytes more than %d", c.skills, c.chars, grown, bare)
		if len(r.All()) < c.skills || grown > c.most || grown < c.skills*len("- skill-00") {
			t.Errorf("%d skills: the request grew by %d bytes, want at most %d", c.skills, grown, c.most)
		}
	}
}
