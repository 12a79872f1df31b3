package skill_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/skill"
)

// Skills of a project are found only if Options.Project says that the user trusts it.
func ExampleDiscover() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, ".claude", "skills", "release", "SKILL.md")
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	_ = os.WriteFile(path, []byte("---\nname: release\ndescription: How to release\n---\nTag $ARGUMENTS.\n"), 0o644)

	for _, project := range []string{"", dir} {
		found := skill.Discover(skill.Options{Project: project, Dir: project})
		in, err := found.Expand("/release v1.2", nil)
		if in == nil || err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(in.Skill.Name, in.Args)
	}
	// Output:
	// unknown skill /release; "reins skills list" lists them
	// release v1.2
}
