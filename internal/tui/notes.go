package tui

import (
	"strings"
	"sync"
)

// Notes takes lines that other parts of the program print, and shows them above the draft. The zero value is ready to use, and
// its methods may be called concurrently, also before and after [Run].
type Notes struct {
	mu    sync.Mutex
	lines []string
	wake  func()
}

// Write takes text. The application shows it soon.
func (n *Notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	for l := range strings.Lines(string(p)) {
		if l = strings.TrimSpace(l); l != "" {
			n.lines = append(n.lines, l)
		}
	}
	wake := n.wake
	n.mu.Unlock()
	if wake != nil {
		wake()
	}
	return len(p), nil
}

// take returns the lines since the last call.
func (n *Notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}

// listen sets the function that new lines call.
func (n *Notes) listen(wake func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wake = wake
}
