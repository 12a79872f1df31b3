//go:build !unix

package cli

func surviveBackground() {}

func inBackground(error) bool { return false }
