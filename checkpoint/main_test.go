package checkpoint

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain hides the user's global ignore file from the tests, and runs the helper process that some
// tests kill.
func TestMain(m *testing.M) {
	if task := os.Getenv(helperTask); task != "" {
		if err := help(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", home)
	os.Setenv("XDG_CONFIG_HOME", home)
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.RemoveAll(home)
	os.Exit(code)
}
