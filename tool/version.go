package tool

import (
	"encoding/json"
	"strconv"
	"strings"
)

// adapt returns the arguments for a call that was made for another version, or why it cannot run.
func (s Spec) adapt(version string, args json.RawMessage) (json.RawMessage, *Error) {
	if version == "" || version == s.Version || compatible(version, s.Version) {
		return args, nil
	}
	if s.Adapt == nil {
		return nil, s.mismatch(version, "")
	}
	var adapted json.RawMessage
	err := guard(func() (err error) {
		adapted, err = s.Adapt(version, args)
		return err
	})
	if err != nil {
		return nil, s.mismatch(version, ": "+err.Error())
	}
	return adapted, nil
}

func (s Spec) mismatch(version, reason string) *Error {
	return Errorf(
		VersionMismatch,
		"The call was made for version %s of %s, but the tool now has version %s%s. Call it again as its current description says.",
		version,
		s.Name,
		s.Version,
		reason,
	)
}

// compatible reports whether a tool with version has can run a call for version want. Unreadable versions are
// incompatible.
func compatible(want, has string) bool {
	major, minor, ok := majorMinor(want)
	ourMajor, ourMinor, ok2 := majorMinor(has)
	return ok && ok2 && major == ourMajor && minor <= ourMinor
}

// majorMinor reads the first two numbers of a version such as 1.4.2. The second may be missing.
func majorMinor(version string) (major, minor uint64, ok bool) {
	first, rest, more := strings.Cut(version, ".")
	major, err := strconv.ParseUint(first, 10, 32)
	if err != nil || !more {
		return major, 0, err == nil
	}
	second, _, _ := strings.Cut(rest, ".")
	minor, err = strconv.ParseUint(second, 10, 32)
	return major, minor, err == nil
}
