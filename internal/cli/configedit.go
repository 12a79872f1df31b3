package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
)

func newConfigEdit(h Host) *cobra.Command {
	var where layerFlags
	var profile string
	cmd := &cobra.Command{
		Use:   "edit [flags]",
		Short: "Edit a configuration file in your editor",
		Long: `Edit a configuration file in your editor (VISUAL or EDITOR). The text is checked
before it is saved. With a mistake, the editor opens again and shows it; save
the text unchanged to give up.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			layer, err := where.layer(config.LayerUser)
			if err == nil && profile != "" && layer != config.LayerUser {
				err = usagef("--profile-name cannot be combined with --project, --local or --personal")
			}
			if err != nil {
				return err
			}
			if profile != "" {
				h, layer = h.withProfile(profile), config.LayerProfile
			}
			file, err := h.configFile(layer)
			if err != nil {
				return err
			}
			return h.editConfig(cmd.Context(), file)
		},
	}
	where.flags(cmd, "edit")
	cmd.Flags().StringVar(&profile, "profile-name", "", "edit the profile `NAME`")
	return cmd
}

// withProfile returns a host whose settings include a profile; "" changes nothing.
func (h Host) withProfile(name string) Host {
	if getenv := h.Getenv; name != "" {
		h.Getenv = func(key string) string {
			if key == config.ProfileVariable {
				return name
			}
			return getenv(key)
		}
	}
	return h
}

// mistakeMark begins the lines that show a mistake in the editor.
const mistakeMark = "#! "

// editConfig lets the user edit a file until it is valid.
func (h Host) editConfig(ctx context.Context, file config.File) error {
	before, err := file.Content()
	if err != nil {
		return usageError{err}
	}
	text, mistake := string(before), error(nil)
	for {
		head := ""
		if mistake != nil {
			head = mistakeMark + show.OneLine(mistake.Error()) + "\n" +
				mistakeMark + "Nothing was saved. Correct it, or save it unchanged to give up.\n"
		}
		edited, err := h.editText(ctx, "config.toml", head+text)
		if err != nil {
			return err
		}
		edited = withoutMarks(edited)
		switch {
		case edited == text && mistake == nil:
			notef(h, "%s is unchanged", shortDir(h, file.Path))
			return nil
		case edited == text:
			return usagef("%s was not changed: %w; your text is in %s", shortDir(h, file.Path), mistake, keepText(edited))
		}
		if text, mistake = edited, file.Check([]byte(edited)); mistake != nil {
			continue
		}
		if err := file.Replace(before, []byte(edited)); err != nil {
			return fmt.Errorf("%w; your text is in %s", err, keepText(edited))
		}
		_, err = fmt.Fprintf(h.Stdout, "saved %s\n", shortDir(h, file.Path))
		return err
	}
}

// withoutMarks removes the lines that show a mistake.
func withoutMarks(text string) string {
	for strings.HasPrefix(text, mistakeMark) {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// keepText saves a text that could not be used, and returns the name of the file.
func keepText(text string) string {
	f, err := os.CreateTemp("", "reins-config-*.toml")
	if err != nil {
		return "no file: " + err.Error()
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return "no file: " + err.Error()
	}
	return f.Name()
}
