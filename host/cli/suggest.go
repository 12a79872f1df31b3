package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// didYouMean returns a question about the words that are nearest to a mistyped one, or "".
func didYouMean(word string, words []string) string {
	if near := nearWords(word, words); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// unknownCommand says that there is no such command, and which one may have been meant.
func unknownCommand(of *cobra.Command, name string) error {
	var names []string
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	path := strings.TrimPrefix(of.CommandPath()+" "+name, "reins ")
	if near := nearWords(name, names); len(near) > 0 {
		return usagef("unknown command %q; did you mean \"%s %s\"?", path, of.CommandPath(), near[0])
	}
	return usagef("unknown command %q; \"%s --help\" lists the commands", path, of.CommandPath())
}

var unknownFlag = regexp.MustCompile(`^unknown flag: --(\S+)`)

// flagError says what is wrong with a flag, and which one may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	if m := unknownFlag.FindStringSubmatch(err.Error()); m != nil {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := nearWords(m[1], names); len(near) > 0 {
			return usagef("unknown flag --%s; did you mean --%s?", m[1], near[0])
		}
	}
	return usagef("%w; see \"%s --help\"", err, cmd.CommandPath())
}

// nearWords returns the words, at most two, that differ from one in a few letters, or else that have it
// in them. The nearest comes first.
func nearWords(word string, words []string) []string {
	type near struct {
		word  string
		wrong int
	}
	limit := min(3, (len(word)+2)/3)
	var found []near
	for _, w := range words {
		switch wrong := distance(strings.ToLower(word), strings.ToLower(w)); {
		case wrong <= limit:
			found = append(found, near{w, wrong})
		case len(word) >= 4 && strings.Contains(w, strings.ToLower(word)):
			found = append(found, near{w, limit + 1})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.wrong, b.wrong) })
	var nearest []string
	for _, n := range found[:min(len(found), 2)] {
		nearest = append(nearest, n.word)
	}
	return nearest
}
