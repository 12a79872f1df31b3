package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/project"
)

func newConfig(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Show and change the configuration",
		Long: `Show and change the configuration. Settings come from several files, from
environment variables and from flags. "reins config path" lists the files, and
"reins config show --origin" shows where each value comes from.`,
		Example: `  reins config show --origin
  reins config set model claude-opus-5-5
  reins config set --project --add permissions.deny "Read(.env)"`,
	}, newConfigShow(h), newConfigGet(h), newConfigSet(h), newConfigUnset(h), newConfigEdit(h), newConfigPath(h), newConfigSchema(h))
}

func newConfigShow(h Host) *cobra.Command {
	var origin, asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show all settings that apply in this directory",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := h.load(".")
			if err != nil {
				return err
			}
			return showConfig(h, p.Entries(), origin, asJSON)
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "show the file and line, variable or flag of each value")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showConfig(h Host, entries []config.Entry, origin, asJSON bool) error {
	t := &show.Table{Columns: []show.Column{{Title: "KEY"}, {Title: "VALUE"}, {Title: "ORIGIN"}}}
	for _, e := range entries {
		if asJSON {
			if err := printJSON(h.Stdout, e); err != nil {
				return err
			}
			continue
		}
		text, err := marshal(e.Value)
		if err != nil {
			return err
		}
		if !origin {
			if _, err := fmt.Fprintf(h.Stdout, "%s = %s\n", e.Key, text); err != nil {
				return err
			}
			continue
		}
		for i, o := range e.Origins {
			key := e.Key
			if entries, ok := e.Value.(map[string]config.Provider); ok {
				name := slices.Sorted(maps.Keys(entries))[i]
				key += "." + name
				text, _ = marshal(entries[name])
			}
			if list, ok := e.Value.([]string); ok {
				text, _ = marshal(list[i])
			}
			o.Name = shortDir(h, o.Name)
			t.Add(key, string(text), show.OneLine(o.String()))
		}
	}
	if origin && !asJSON {
		return printTable(h, t)
	}
	return nil
}

func newConfigGet(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print one setting",
		Long: `Print the value of one setting. A list is printed with one element per line. The
exit code is 1 if the setting has no value.`,
		Args:              wantArgs(1, 1, "one KEY"),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := h.load(".")
			if err != nil {
				return err
			}
			e, err := p.Settings.Get(args[0])
			if err != nil {
				return usageError{err}
			}
			if len(e.Origins) == 0 {
				return fmt.Errorf("%s is not set", e.Key)
			}
			if asJSON {
				return printJSON(h.Stdout, e)
			}
			return printValue(h.Stdout, e.Value)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printValue(w io.Writer, value any) (err error) {
	switch v := value.(type) {
	case []string:
		for _, text := range v {
			_, err = fmt.Fprintln(w, text)
		}
	case []config.Hook:
		for _, hook := range v {
			err = printJSON(w, hook)
		}
	default:
		_, err = fmt.Fprintln(w, v)
	}
	return err
}

// completeKeys completes one argument as a key.
func completeKeys(_ *cobra.Command, args []string, prefix string) (keys []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		for _, k := range config.Keys() {
			if strings.HasPrefix(k, prefix) {
				keys = append(keys, k)
			}
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// layerFlags choose one file.
type layerFlags struct{ user, project, local, personal bool }

func (l *layerFlags) flags(cmd *cobra.Command, verb string) {
	f := cmd.Flags()
	f.BoolVar(&l.user, "user", false, verb+" your user configuration file")
	f.BoolVar(&l.project, "project", false, verb+" the project's configuration file, "+config.ProjectFile)
	f.BoolVar(&l.local, "local", false, verb+" your local configuration file for the project, "+config.LocalFile)
	f.BoolVar(&l.personal, "personal", false, verb+" your own configuration file for this project, which is outside the project")
}

// layer returns the chosen layer, or a default.
func (l layerFlags) layer(standard config.Layer) (config.Layer, error) {
	chosen := []config.Layer{}
	for layer, given := range map[config.Layer]bool{
		config.LayerUser: l.user, config.LayerProject: l.project, config.LayerLocal: l.local, config.LayerPersonal: l.personal,
	} {
		if given {
			chosen = append(chosen, layer)
		}
	}
	switch len(chosen) {
	case 0:
		return standard, nil
	case 1:
		return chosen[0], nil
	}
	return "", usagef("--user, --project, --local and --personal cannot be combined")
}

// configFile returns the file of a layer for the current directory.
func (h Host) configFile(layer config.Layer) (config.File, error) { return h.configFileFor(".", layer) }

// configFileFor returns the file of a layer for a directory.
func (h Host) configFileFor(dir string, layer config.Layer) (config.File, error) {
	return h.machine().ConfigFile(dir, layer)
}

func newConfigSet(h Host) *cobra.Command {
	var where layerFlags
	var add bool
	cmd := &cobra.Command{
		Use:   "set [flags] KEY VALUE",
		Short: "Change one setting",
		Long: `Change one setting in a configuration file. Comments and other settings stay as
they are. For a list, VALUE is one element or a TOML array.`,
		Example: `  reins config set model claude-opus-5-5
  reins config set permissions.deny '["Read(.env)", "Bash(git push:*)"]'
  reins config set --add permissions.allow "Bash(go test:*)"`,
		Args:              wantArgs(2, 2, "a KEY and a VALUE"),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			layer, err := where.layer(config.LayerUser)
			if err != nil {
				return err
			}
			file, err := h.configFile(layer)
			if err != nil {
				return err
			}
			change := file.Set
			if add {
				change = file.Add
			}
			if one := add || !strings.HasPrefix(args[1], "["); one && slices.Contains(project.RuleLists, args[0]) {
				if err := project.CheckRule(strings.TrimPrefix(args[0], "permissions."), args[1]); err != nil {
					return usageError{err}
				}
			}
			if err := change(args[0], args[1]); err != nil {
				return usageError{err}
			}
			return h.reportOverride(args[0], layer)
		},
	}
	where.flags(cmd, "change")
	cmd.Flags().BoolVar(&add, "add", false, "add VALUE to a list")
	return cmd
}

func newConfigUnset(h Host) *cobra.Command {
	var where layerFlags
	cmd := &cobra.Command{
		Use:   "unset [flags] KEY",
		Short: "Remove one setting",
		Long: `Remove one setting from a configuration file, so that a lower layer decides
again. Comments and other settings stay as they are. To remove one rule from a
list, use "reins policy remove".`,
		Example: `  reins config unset model
  reins config unset --project permissions.mode`,
		Args:              wantArgs(1, 1, "one KEY"),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			layer, err := where.layer(config.LayerUser)
			if err != nil {
				return err
			}
			file, err := h.configFile(layer)
			if err != nil {
				return err
			}
			if err := file.Unset(args[0]); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
	where.flags(cmd, "change")
	return cmd
}

// reportOverride reports that a setting has no effect because a higher layer overrides it.
func (h Host) reportOverride(key string, layer config.Layer) error {
	p, err := h.load(".")
	if err != nil {
		return err
	}
	e, err := p.Settings.Get(key)
	if err == nil && len(e.Origins) == 1 && e.Origins[0].Layer.Above(layer) {
		notef(h, "%s is overridden by %s", key, e.Origins[0])
	}
	return err
}

func newConfigPath(h Host) *cobra.Command {
	var where layerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "path",
		Short: "List the configuration files, lowest layer first",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			only, err := where.layer("")
			if err != nil {
				return err
			}
			src, err := h.machine().Sources(".")
			if err != nil {
				return err
			}
			return listFiles(h, src.Files(), only, asJSON)
		},
	}
	where.flags(cmd, "print only the path of")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func listFiles(h Host, files []config.File, only config.Layer, asJSON bool) error {
	t := &show.Table{Columns: []show.Column{{Title: "LAYER"}, {Title: "EXISTS"}, {Title: "FILE"}}}
	for _, f := range files {
		exists := map[bool]string{true: "yes", false: "no"}[f.Exists()]
		var err error
		switch {
		case only != "" && f.Layer != only:
		case asJSON:
			err = printJSON(h.Stdout, struct {
				config.File
				Exists bool `json:"exists"`
			}{f, f.Exists()})
		case only != "":
			_, err = fmt.Fprintln(h.Stdout, f.Path)
		default:
			t.Add(string(f.Layer), exists, show.OneLine(f.Path))
		}
		if err != nil {
			return err
		}
	}
	if asJSON || only != "" {
		return nil
	}
	return printTable(h, t)
}

func newConfigSchema(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configuration files",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = h.Stdout.Write(append(b, '\n'))
			return err
		},
	}
}
