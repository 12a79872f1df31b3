package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reins-agent/reins/audit"
)

// Each line contains the hash of the line before, so that a change is noticed.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "audit.jsonl")
	log, err := audit.Open(path, audit.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"read_file", "shell"} {
		if _, err := log.Append(audit.Entry{Time: time.Now(), Trace: "t", Call: "c", Name: name, OK: true}); err != nil {
			fmt.Println(err)
		}
	}
	report, err := audit.Verify(path, "")
	fmt.Println(report.Lines, "lines, OK:", report.OK(), err)

	b, _ := os.ReadFile(path)
	_ = os.WriteFile(path, []byte(strings.Replace(string(b), "read_file", "list_dir", 1)), 0o600)
	report, err = audit.Verify(path, "")
	fmt.Println("changed, OK:", report.OK(), err)
	// Output:
	// 2 lines, OK: true <nil>
	// changed, OK: false <nil>
}
