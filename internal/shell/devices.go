package shell

import (
	"slices"
	"strings"
)

// formatters are programs that overwrite the devices that they name, with the words that make them do it; none if they
// always do.
var formatters = map[string][]string{
	"mke2fs": nil, "mkdosfs": nil, "mkntfs": nil, "mkswap": nil, "blkdiscard": nil, "shred": nil, "pvcreate": nil,
	"wipefs":     {"-a", "--all", "-o", "--offset"},
	"badblocks":  {"-w"},
	"sgdisk":     {"-Z", "--zap-all", "-z", "--zap", "-o", "--clear"},
	"parted":     {"mklabel", "mktable", "mkpart", "rm"},
	"cryptsetup": {"luksFormat", "luksErase", "erase"},
	"nvme":       {"format", "sanitize"},
	"hdparm":     {"--security-erase", "--security-erase-enhanced"},
	"diskutil":   {"eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "randomDisk", "secureErase"},
}

// formats records the devices that a program overwrites, if it is a known formatter.
func (in *invocation) formats() {
	words, known := formatters[in.name]
	if !known && !strings.HasPrefix(in.name, "mkfs") {
		return
	}
	if words != nil && !slices.ContainsFunc(in.args, func(g arg) bool { return g.anyOf(words) }) {
		return
	}
	for _, g := range in.args {
		text, ok := g.text()
		switch {
		case ok && in.name == "diskutil" && strings.HasPrefix(text, "disk"):
			in.uses(Write, literal("/dev/"+text))
		case ok && strings.HasPrefix(text, "/dev/"):
			in.uses(Write, g)
		}
		in.everything(g)
	}
}

// anyOf reports whether the word is in a list, or has one of its letters among other options.
func (g arg) anyOf(list []string) bool {
	text, ok := g.text()
	return ok && slices.ContainsFunc(list, func(w string) bool {
		letter := len(w) == 2 && w[0] == '-' && len(text) > 1 && text[0] == '-' && text[1] != '-'
		return text == w || strings.HasPrefix(text, w+"=") || letter && strings.Contains(text, w[1:])
	})
}
