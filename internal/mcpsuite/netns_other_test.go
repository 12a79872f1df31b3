//go:build !linux

package mcpsuite

import "errors"

func isolate() (int, bool, error) {
	return 1, true, errors.New("the tests need a network namespace, which only Linux has")
}
