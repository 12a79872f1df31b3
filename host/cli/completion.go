package cli

import (
	"strings"

	"github.com/reins-agent/reins/host/show"
	"github.com/spf13/cobra"
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
		if err := cmd.RegisterFlagCompletionFunc(name, completeSessions(h, -1)); err != nil {
			panic(err)
		}
	}
}
