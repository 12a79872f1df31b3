//go:build !linux

// Package exepages returns memory that a program needed only to start.
package exepages

// Drop does nothing on this system.
func Drop() {}
