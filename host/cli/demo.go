package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
)

type demo struct {
	host     Host
	provider string
	keep     bool
}

func newDemo(h Host) *cobra.Command {
	d := demo{host: h}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run an offline demo against a scripted model",
		Long: `Run the main job without a key and without a network: an agent fixes a failing test in a
small Go project. Its model is a script behind a real HTTP server on this machine, which
speaks each of the four wire protocols in turn. All the rest is as in "reins run".`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&d.provider, "provider", "", "show only openai, anthropic, gemini or chat")
	cmd.Flags().BoolVar(&d.keep, "keep", false, "leave the project where it is, and say where")
	return cmd
}

// demoStops are the providers that the demo shows.
var demoStops = []struct{ provider, dialect, model, title string }{
	{"openai", openai.Name, "", "OpenAI Responses; edits with apply_patch"},
	{"anthropic", anthropic.Name, "", "Anthropic Messages; edits with edit_file"},
	{"gemini", gemini.Name, "", "Gemini generateContent; edits with edit_file"},
	{"chat", chat.Name, "demo-model", "Chat Completions, as every OpenAI-compatible server speaks it; edits with edit_file"},
}

func (d demo) run(ctx context.Context) error {
	var names []string
	for _, stop := range demoStops {
		names = append(names, stop.provider)
	}
	if d.provider != "" && !slices.Contains(names, d.provider) {
		return usagef("there is no demo of %q; there are %s", d.provider, strings.Join(names, ", "))
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the demo runs the tests of a small Go project, and there is no go command: install Go first (https://go.dev/dl)")
	}
	w := d.host.Stdout
	fmt.Fprintln(w, "The model in this demo is scripted: a server on this machine plays its answers, and makes up")
	fmt.Fprintln(w, "the tokens; nothing is paid. All else is real: the protocols, the HTTP traffic, the agent, its")
	fmt.Fprintln(w, "tools, and the tests that they run.")
	for _, stop := range demoStops {
		if d.provider != "" && d.provider != stop.provider {
			continue
		}
		fmt.Fprintf(w, "\n── %s\n> %s\n", stop.title, demoTask)
		if err := d.show(ctx, stop.provider, stop.dialect, stop.model); err != nil {
			return err
		}
	}
	return nil
}

// show lets the agent fix a project of its own over one provider's protocol.
func (d demo) show(ctx context.Context, provider, dialect, model string) error {
	dir, err := os.MkdirTemp("", "reins-demo-"+provider+"-")
	if err != nil {
		return err
	}
	if d.keep {
		defer fmt.Fprintf(d.host.Stdout, "The project is in %s\n", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	for name, content := range demoProject {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	server := llmtest.NewServer(&llmtest.Script{Reply: demoScript{provider}.reply})
	defer server.Close()
	if err := d.runner(provider, model, server.BaseURL(dialect), dir).run(ctx, []string{demoTask}); err != nil {
		return err
	}
	return d.showDiff(dir)
}

// runner is what "reins run --yes" would make, with the output in one place.
func (d demo) runner(provider, model, url, dir string) *runner {
	h := d.host
	h.Stdin, h.Stderr = strings.NewReader(""), h.Stdout
	flags := run{connection: connection{provider: provider, model: model, baseURL: url}, dir: dir, yes: true, noSave: true, timeout: 2 * time.Minute}
	r := newRunner(h, newTextView(h), flags)
	r.host.Getenv = func(name string) string {
		switch name {
		case "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "REINS_CHAT_API_KEY":
			return "demo"
		}
		return ""
	}
	// The project needs nothing but the standard library, and nothing is to be looked for.
	r.vars = map[string]string{"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
	return r
}

// showDiff shows what became of the project.
func (d demo) showDiff(dir string) error {
	w := d.host.Stdout
	fmt.Fprintln(w, "\nWhat has changed in the project:")
	for name, before := range demoProject {
		after, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if diff := udiff.Unified("a/"+name, "b/"+name, before, string(after)); diff != "" {
			fmt.Fprint(w, show.Diff(diff, "  ", 100, d.host.colours(w)))
		}
	}
	return nil
}
