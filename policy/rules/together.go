package rules

import "github.com/reins-agent/reins/policy"

// wider returns the wider of two boxes.
func wider(b, other policy.Box) policy.Box {
	rank := map[policy.Box]int{policy.BoxRead: 0, policy.BoxWorkspace: 1, "": 1, policy.BoxOutside: 2}
	if rank[other] > rank[b] {
		return other
	}
	return b
}

// together returns the box for commands that run together. They run outside only if all of them may, and they can only
// read if none needs more.
func together(boxes []policy.Box) (box policy.Box) {
	for i, b := range boxes {
		switch {
		case i == 0:
			box = b
		case b != box && (b == policy.BoxOutside || box == policy.BoxOutside):
			box = policy.BoxWorkspace
		default:
			box = wider(box, b)
		}
	}
	return box
}
