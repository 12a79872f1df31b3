package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/project"
)

// placeHelp is the end of the help about rules, by list.
var placeHelp = map[string]string{"allow": `
A rule for a command may end with the place where it runs: @read (it can only
read), @workspace (the sandbox, the default) or @outside, such as
Bash(git push:*)@outside.`}

// newPolicyAdd returns the command that saves rules in the configuration, in the list allow or deny.
func newPolicyAdd(h Host, list, short string) *cobra.Command {
	var where layerFlags
	cmd := &cobra.Command{
		Use:   list + " [flags] RULE...",
		Short: short,
		Long: short + `. The rules are saved in a configuration file, by
default in your user configuration. A RULE has one of these forms:

  Bash(npm test)            this command
  Bash(npm run build:*)     this command with any additional arguments
  Read(src/**)              reading files that match a .gitignore pattern, with
                            any tool or command
  Edit(/docs/*.md)          changing and deleting them; a leading slash is the
                            working directory
  WebFetch(domain:go.dev)   connecting to a host
  mcp__server               the tools of an MCP server
  grep                      a tool by its name
` + placeHelp[list],
		Example: "  reins policy " + list + ` "Bash(go test:*)"`,
		Args:    wantArgs(1, anyNumber, "one or more RULEs"),
		RunE: func(_ *cobra.Command, args []string) error {
			layer, err := where.layer(config.LayerUser)
			if err != nil {
				return err
			}
			file, err := h.configFile(layer)
			if err != nil {
				return err
			}
			for _, text := range args {
				if err := project.CheckRule(list, text); err != nil {
					return usageError{err}
				}
			}
			for _, text := range args {
				if err := file.Add("permissions."+list, text); err != nil {
					return usageError{err}
				}
			}
			_, err = fmt.Fprintf(h.Stdout, "saved in %s\n", shortDir(h, file.Path))
			return err
		},
	}
	where.flags(cmd, "change")
	return cmd
}

// ownLayers are the files of the user, in the order in which rules are looked for.
var ownLayers = []config.Layer{config.LayerPersonal, config.LayerUser}

// newPolicyRemove returns the command that removes rules from the configuration.
func newPolicyRemove(h Host) *cobra.Command {
	var where layerFlags
	cmd := &cobra.Command{
		Use:   "remove [flags] RULE...",
		Short: "Remove rules",
		Long: `Remove rules from the lists allow, ask and deny of your own configuration files:
the one for this project and the one for every project. A RULE must be written
as "reins policy list" shows it.`,
		Example: `  reins policy remove "Bash(go test:*)"
  reins policy remove --project "Read(.env)"`,
		Args:              wantArgs(1, anyNumber, "one or more RULEs"),
		ValidArgsFunction: completeRules(h, &where),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := h.ruleFiles(where)
			if err != nil {
				return err
			}
			for _, rule := range args {
				if err := h.removeRule(files, rule); err != nil {
					return err
				}
			}
			return nil
		},
	}
	where.flags(cmd, "change only")
	return cmd
}

// ruleFiles returns the files that rules are removed from.
func (h Host) ruleFiles(where layerFlags) (files []config.File, err error) {
	layer, err := where.layer("")
	if err != nil {
		return nil, err
	}
	layers := ownLayers
	if layer != "" {
		layers = []config.Layer{layer}
	}
	for _, l := range layers {
		file, err := h.configFile(l)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// removeRule removes a rule from files, and reports where it was.
func (h Host) removeRule(files []config.File, rule string) error {
	removed := false
	for _, f := range files {
		for _, key := range project.RuleLists {
			found, err := f.Remove(key, rule)
			if err != nil {
				return usageError{err}
			}
			if found {
				removed = true
				if _, err := fmt.Fprintf(h.Stdout, "removed from %s in %s\n", key, shortDir(h, f.Path)); err != nil {
					return err
				}
			}
		}
	}
	if removed {
		return nil
	}
	return h.noRule(rule)
}

// noRule returns the error for a rule that is not in the files which were to be changed.
func (h Host) noRule(rule string) error {
	p, err := h.load(".")
	if err != nil {
		return err
	}
	var all []string
	for _, key := range project.RuleLists {
		e, err := p.Settings.Get(key)
		if err != nil {
			return err
		}
		for i, r := range e.Value.([]string) {
			if all = append(all, r); r == rule {
				return fmt.Errorf("the rule %s is in %s; remove it there", rule, shortDir(h, e.Origins[i].String()))
			}
		}
	}
	return fmt.Errorf("there is no rule %s%s", rule, cmp.Or(didYouMean(rule, all), `; see "reins policy list"`))
}

// completeRules completes the rules of the files that are changed.
func completeRules(h Host, where *layerFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) (rules []string, _ cobra.ShellCompDirective) {
		p, err := h.peek(".")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		layer, err := where.layer("")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, key := range project.RuleLists {
			e, err := p.Settings.Get(key)
			if err != nil {
				continue
			}
			for i, r := range e.Value.([]string) {
				own := layer == "" && slices.Contains(ownLayers, e.Origins[i].Layer) || layer == e.Origins[i].Layer
				if own && strings.HasPrefix(r, prefix) && !slices.Contains(args, r) {
					rules = append(rules, r)
				}
			}
		}
		return rules, cobra.ShellCompDirectiveNoFileComp
	}
}
