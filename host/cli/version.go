package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set at build time; otherwise the module's version is used, where there is one.
var Version string

func newVersion(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(h.Stdout, versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("reins %s %s %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
