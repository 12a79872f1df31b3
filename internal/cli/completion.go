package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/session"
)

// addCompletion adds Cobra's completion command, and makes it reject unknown shells.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, _ := root.Find([]string{"completion"})
	cmd.Short = "Print a completion script for a shell"
	group(cmd).Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown shell %q; use bash, zsh, fish or powershell", args[0])
		}
		return nil
	}
	bash, _, _ := cmd.Find([]string{"bash"})
	bash.Long = strings.Replace(bash.Long, "This script depends on the 'bash-completion' package.\n"+
		"If it is not installed already, you can install it via your OS's package manager.\n\n", "", 1)
	script := bash.RunE
	bash.RunE = func(cmd *cobra.Command, args []string) error {
		if err := script(cmd, args); err != nil {
			return err
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), bashWords)
		return err
	}
}

// bashWords lets Cobra's script find the words on the command line without the package bash-completion. Bash splits
// words at = and :, so it splits the line at blanks instead.
const bashWords = `
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    __reins_init_completion()
    {
        local line=${COMP_LINE:0:$COMP_POINT}
        COMPREPLY=()
        read -ra words <<<"$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
`

// completeSessions completes up to maximum arguments as session IDs.
func completeSessions(h Host, maximum int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if maximum != anyNumber && len(args) >= maximum {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return sessionIDs(h, cmd, prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sessionIDs lists the session IDs with a prefix and their titles, most recently used first.
func sessionIDs(h Host, cmd *cobra.Command, prefix string) []string {
	sessions, err := openSessions(h)
	if err != nil {
		return nil
	}
	var ids []string
	for m, err := range sessions.Store.List(cmd.Context()) {
		if err == nil && strings.HasPrefix(m.ID, prefix) {
			ids = append(ids, cobra.CompletionWithDesc(m.ID, show.Summary(title(h, m))))
		}
	}
	if len(ids) > 0 && strings.HasPrefix(session.Latest, prefix) {
		ids = append(ids, cobra.CompletionWithDesc(session.Latest, "the last used session"))
	}
	return ids
}

// completeWords completes a flag value from a list.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeModels completes a flag value with models from the catalogue and the configuration, limited to the
// chosen provider.
func completeModels(h Host, cmd *cobra.Command, c *connection, flag string) {
	completeFlag(cmd, flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		known := h.knownModels(c)
		var ids []string
		for _, a := range known.Aliases() {
			if (c.provider == "" || a.Provider == c.provider) && strings.HasPrefix(a.Name, prefix) {
				ids = append(ids, cobra.CompletionWithDesc(a.Name, a.Model))
			}
		}
		for _, m := range known.Models() {
			if !m.Retired && (c.provider == "" || m.Provider == c.provider) && strings.HasPrefix(m.ID, prefix) {
				ids = append(ids, cobra.CompletionWithDesc(m.ID, m.Name))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	})
}

// knownModels returns the models in the catalogue and in the readable part of the configuration.
func (h Host) knownModels(c *connection) *llm.Catalogue {
	o := h.options(".")
	o.Models, o.Note = c.catalogue, nil
	if p, err := project.Load(context.Background(), o); err == nil {
		if known, err := p.Catalogue(); err == nil {
			return known
		}
	}
	if known, err := h.machine().Models(c.catalogue); err == nil {
		return known
	}
	return llm.DefaultCatalogue()
}

// completeEfforts completes --effort with the chosen model's levels, or else all levels.
func completeEfforts(h Host, cmd *cobra.Command, c *connection) {
	completeFlag(cmd, "effort", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		levels := []string{"low", "medium", "high"}
		known := h.knownModels(c)
		m, ok := known.Lookup(c.provider, c.model)
		if alias, resolves := known.Resolve(c.provider, c.model); resolves {
			m, ok = alias, true
		}
		if ok && len(m.Efforts) > 0 {
			levels = m.Efforts
		}
		return levels, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeTrees completes one argument as a worktree.
func completeTrees(h Host) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
		store, err := h.trees()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := store.List()
		for _, i := range all {
			if strings.HasPrefix(i.Name(), prefix) {
				names = append(names, cobra.CompletionWithDesc(i.Name(), shortDir(h, i.From)))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRefs completes one argument as a branch or a tag.
func completeRefs(cmd *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	r, err := openRepo(cmd.Context(), ".")
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out, _ := r.run(cmd.Context(), "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
	for name := range strings.Lines(out) {
		if name = strings.TrimSpace(name); strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag sets the completion for a flag, which must exist.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// unknownCommand returns an error that suggests the nearest command.
func unknownCommand(of *cobra.Command, name string) error {
	var names []string
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	path := strings.TrimPrefix(of.CommandPath()+" "+name, "reins ")
	if near := suggest.Words(name, names); len(near) > 0 {
		return usagef("unknown command %q; did you mean \"%s %s\"?", path, of.CommandPath(), near[0])
	}
	return usagef("unknown command %q; see \"%s --help\"", path, of.CommandPath())
}

// flagError rewrites an error about a flag to suggest the nearest flag or the help.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		name := unknown.GetSpecifiedName()
		if near := suggest.Words(name, names); len(near) > 0 {
			return usagef("unknown flag --%s; did you mean --%s?", name, near[0])
		}
		err = fmt.Errorf("unknown flag --%s", name)
	case errors.As(err, &missing):
		err = fmt.Errorf("--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		err = fmt.Errorf("invalid value %q for --%s%s", invalid.GetValue(), f.Name, valueHint(f.Value.Type()))
	}
	return usagef("%w; see \"%s --help\"", err, cmd.CommandPath())
}

// valueHint describes a flag type's values.
func valueHint(flagType string) string {
	switch flagType {
	case "int":
		return ": use a whole number"
	case "float64":
		return ": use a number"
	case "duration":
		return ": use a duration such as 30s or 10m"
	case "bool":
		return ": use true or false"
	}
	return ""
}

// useInstead completes an error about an unknown word with the nearest words, or all words if none is near.
func useInstead(word string, words []string) string {
	return cmp.Or(didYouMean(word, words), "; use "+suggest.Or(words))
}

// didYouMean returns "; did you mean X or Y?" with the nearest words, or "".
func didYouMean(word string, words []string) string {
	if near := suggest.Words(word, words); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}
