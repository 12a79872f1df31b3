package local

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// osVersion names the release of Windows.
func osVersion() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d (build %d)", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
