package cli

import (
	"strings"

	"github.com/reins-agent/reins/host/show"
	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
)

// completeSessions completes the ids of sessions, for so many arguments; -1 is all.
func completeSessions(h Host, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return sessionIDs(h, cmd, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sessionIDs are the ids that begin so, the last one first, with what the sessions are called.
func sessionIDs(h Host, cmd *cobra.Command, begun string) []string {
	store, err := openStore(h)
	if err != nil {
		return nil
	}
	var ids []string
	for m, err := range store.List(cmd.Context()) {
		if err == nil && strings.HasPrefix(m.ID, begun) {
			ids = append(ids, cobra.CompletionWithDesc(m.ID, show.Summary(called(h, m))))
		}
	}
	if len(ids) > 0 && strings.HasPrefix(latest, begun) {
		ids = append(ids, cobra.CompletionWithDesc(latest, "the one that was used last"))
	}
	return ids
}

// completeSessionFlag completes the ids of sessions as the values of flags, which there must be.
func completeSessionFlag(h Host, cmd *cobra.Command, names ...string) {
	for _, name := range names {
		must(cmd.RegisterFlagCompletionFunc(name, completeSessions(h, -1)))
	}
}

// completeWords completes the values of a flag from a list.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// completeModels completes the values of flags with the models of the catalogue, or only those of the
// provider that is chosen.
func completeModels(cmd *cobra.Command, c *connection, flags ...string) {
	complete := func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		known, err := loadCatalogue(c.catalogue)
		if err != nil {
			known = llm.DefaultCatalogue()
		}
		var ids []string
		for _, m := range known.Models() {
			if !m.Retired && (c.provider == "" || m.Provider == c.provider) && strings.HasPrefix(m.ID, begun) {
				ids = append(ids, cobra.CompletionWithDesc(m.ID, m.Name))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	for _, flag := range flags {
		must(cmd.RegisterFlagCompletionFunc(flag, complete))
	}
}

// must panics on an error that only a mistake in the program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
