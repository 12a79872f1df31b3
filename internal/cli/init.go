package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// agentsFile is the file with instructions for agents.
const agentsFile = "AGENTS.md"

// agentsText is a text for AGENTS.md.
type agentsText struct {
	Text string `json:"text" jsonschema:"the whole content of AGENTS.md in Markdown"`
}

const initTask = `Improve the first version of AGENTS.md for this project.

It follows and comes from the files alone. AGENTS.md tells a coding agent what it cannot see at once: how to build, test (also
a single test), lint and format, how the code is organized, conventions, and traps. Read the README, the manifests and a few
typical source files. Keep the commands that are right, and remove those that are wrong. Write at most 80 lines, without praise,
general advice, and anything that you did not see in the files. Do not write the file: return its text.`

type initCommand struct {
	consultation[agentsText]
	noModel, dryRun bool
}

func newInit(h Host) *cobra.Command {
	var o initCommand
	cmd := &cobra.Command{
		Use:   "init [flags]",
		Short: "Write a first AGENTS.md for the project",
		Long: `Write a first AGENTS.md, the instructions that agents read: languages, commands
to build, test, lint and format, and the layout of the directories. They come
from files such as Makefile, go.mod, package.json and pyproject.toml. If a
provider is configured, a model reads the project and improves the text.

An AGENTS.md that exists is never changed.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.do(cmd.Context(), h) },
	}
	o.flags(h, cmd)
	cmd.Flags().BoolVar(&o.noModel, "no-model", false, "do not ask a model")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only print the text")
	return cmd
}

func (o initCommand) do(ctx context.Context, h Host) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, agentsFile)
	if _, err := os.Lstat(path); err == nil && !o.dryRun {
		return fmt.Errorf("%s already exists; it was not changed", agentsFile)
	}
	f := findFacts(ctx, dir)
	text := f.text()
	if !o.noModel {
		if text, err = o.improve(ctx, h, dir, f); err != nil {
			return err
		}
	}
	if o.dryRun {
		_, err := io.WriteString(h.Stdout, text)
		return err
	}
	if err := writeNew(path, text); err != nil {
		return err
	}
	for _, other := range []string{"CLAUDE.md", "GEMINI.md"} {
		if _, err := os.Stat(filepath.Join(dir, other)); err == nil {
			notef(h, "the project also has %s; see docs/other-agents.md for which file is used", other)
		}
	}
	lines := show.Plural(strings.Count(text, "\n"), "line")
	_, err = fmt.Fprintf(h.Stdout, "wrote %s (%s); review it before you commit it\n", agentsFile, lines)
	return err
}

// writeNew writes a file that does not exist.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// improve returns the text of a model, or the text of the facts if there is no model. Commands that the files define are not
// lost.
func (o initCommand) improve(ctx context.Context, h Host, dir string, f facts) (string, error) {
	chosen := o.parsed.Changed("provider") || o.parsed.Changed("model")
	if why := o.unconnected(ctx, h); why != nil && !chosen {
		notef(h, "no model was asked: %s", oneLine(why))
		return f.text(), nil
	}
	o.dir, o.noSave, o.task = dir, true, initTask
	o.parts = []llm.Part{llm.Text{Text: "<file path=\"AGENTS.md\">\n" + f.text() + "</file>"}}
	answer, _, err := o.ask(ctx, h)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(show.Visible(answer.Text)) + "\n"
	if missing := f.commandList(text); missing != "" {
		text += "\n## Other commands in the project's files\n\n" + missing
	}
	return text, nil
}

// unconnected returns why there is no model: no provider is configured.
func (o initCommand) unconnected(ctx context.Context, h Host) error {
	h.Stderr = io.Discard // the run says it again
	probe := o.run
	if err := probe.configure(h, event.Meta{}); err != nil {
		return err
	}
	_, err := probe.project.Connect(ctx)
	return err
}
