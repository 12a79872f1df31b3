package coder

import (
	"testing"

	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/project"
)

func TestCoder_TrustAndYesHoldOnlyForWhatWasAsked(t *testing.T) {
	home, here, other := t.TempDir(), realpath.Resolve(t.TempDir()), realpath.Resolve(t.TempDir())
	asked := project.Options{
		Machine: project.Machine{SystemDir: t.TempDir(), Getenv: func(name string) string {
			return map[string]string{"HOME": home}[name]
		}},
		Dir:   here,
		Trust: project.TrustYes,
		Yes:   true,
	}
	for dir, trusted := range map[string]bool{here: true, other: false} {
		p, mode, err := load(asked, dir, WorkspaceWrite)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Workbench()
		if err != nil {
			t.Fatal(err)
		}
		d := c.Session.Policy.Decide(t.Context(), policy.Query{Tool: "t", Mode: mode})
		if p.Trusted != trusted || d.Code == "yes" || mode != policy.ModeAuto {
			t.Errorf("%s: trusted %v, decision %+v, mode %s; want trust %v, no --yes, auto", dir, p.Trusted, d, mode, trusted)
		}
	}
}
