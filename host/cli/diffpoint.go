package cli

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
)

// checkpointID is what a checkpoint is called, and inputNumber what stands for a prompt.
var (
	checkpointID = regexp.MustCompile(`^[0-9]{10}-[0-9a-f]{8}$`)
	inputNumber  = regexp.MustCompile(`^@?[0-9]{1,18}$`)
)

// isPoint reports whether something names a state of the past.
func isPoint(s string) bool { return checkpointID.MatchString(s) || inputNumber.MatchString(s) }

// divide tells the session from the points of its past.
func divide(args []string) (session, points []string, err error) {
	for i, a := range args {
		switch {
		case isPoint(a):
			points = append(points, a)
		case i == 0:
			session = args[:1]
		default:
			return nil, nil, usagef("%q is neither a checkpoint nor the number of a prompt; \"reins diff --list\" shows them, and paths stand behind --", a)
		}
	}
	if len(points) > 2 {
		return nil, nil, usagef("\"reins diff\" compares two states, not %d; paths stand behind --", len(points))
	}
	return session, points, nil
}

// span is the checkpoints that are to be compared: from the one before the last prompt unless points
// are given, and up to the present if there is no second point. Without any checkpoint both are "".
func (p prompts) span(points []string) (from, to checkpoint.ID, err error) {
	var ids [2]checkpoint.ID
	for i, point := range points {
		if ids[i], err = p.find(point); err != nil {
			return "", "", err
		}
	}
	if len(points) == 0 {
		ids[0] = p.last()
	}
	return ids[0], ids[1], nil
}

// last is the checkpoint before the last prompt that changed files and was not taken back.
func (p prompts) last() checkpoint.ID {
	for i := len(p.list) - 1; i >= 0; i-- {
		if in := p.list[i]; in.Checkpoint != "" && !in.Undone.Files {
			return checkpoint.ID(in.Checkpoint)
		}
	}
	return ""
}

// dir is the directory of a checkpoint; those of which the prompts tell nothing are of the session's.
func (p prompts) dir(id checkpoint.ID, standard string) string {
	for _, in := range p.list {
		if in.Checkpoint == string(id) && in.Dir != "" {
			return in.Dir
		}
	}
	return standard
}

// find is the checkpoint that a point names.
func (p prompts) find(point string) (checkpoint.ID, error) {
	if checkpointID.MatchString(point) {
		return checkpoint.ID(point), nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(point, "@"), 10, 64)
	if err != nil {
		return "", usagef("invalid record number %q", point)
	}
	for _, in := range p.list {
		switch {
		case in.Seq != event.Seq(n):
		case in.Checkpoint == "":
			return "", usagef("there is no checkpoint before the prompt @%d, because it changed no files; \"reins diff --list\" shows those that did", n)
		default:
			return checkpoint.ID(in.Checkpoint), nil
		}
	}
	return "", usagef("record @%d of session %s is no prompt; \"reins diff --list\" shows them", n, p.session)
}
