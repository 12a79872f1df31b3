package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// commands adds Claude Code commands. In a subdirectory, the command name begins with the subdirectory name.
func (f *finder) commands(p place) {
	f.each(p, ".md", true, func(name, full, content string) error {
		d, err := parse(content)
		if err != nil {
			return err
		}
		s := d.command(name, KindClaude)
		s.ModelInvoked = s.ModelInvoked && d.text("description") != ""
		f.addCommand(p, full, s)
		return nil
	})
}

// prompts adds codex prompts, which codex calls "/prompts:name".
func (f *finder) prompts(p place) {
	f.each(p, ".md", false, func(name, full, content string) error {
		d, err := parse(content)
		if err != nil {
			return err
		}
		s := d.command("prompts:"+name, KindCodex)
		s.ModelInvoked = false
		f.addCommand(p, full, s)
		return nil
	})
}

// gemini adds gemini-cli commands.
func (f *finder) gemini(p place) {
	f.each(p, ".toml", true, func(name, full, content string) error {
		var file struct{ Prompt, Description string }
		if err := toml.Unmarshal([]byte(content), &file); err != nil {
			return err
		}
		if strings.TrimSpace(file.Prompt) == "" {
			return errors.New("prompt is missing or empty")
		}
		s := document{body: strings.TrimSpace(file.Prompt)}.command(name, KindGemini)
		s.Description, s.ModelInvoked = cmp.Or(file.Description, s.Description), false
		f.addCommand(p, full, s)
		return nil
	})
}

// command returns the command in a file.
func (d document) command(name string, k Kind) *Skill {
	delete(d.fields, "name")
	s := d.skill(name)
	s.Kind, s.Warnings = k, nil
	if _, short, ok := strings.Cut(name, ":"); ok {
		s.Aliases = append(s.Aliases, short[strings.LastIndexByte(short, ':')+1:])
	}
	return s
}

func (f *finder) addCommand(p place, full string, s *Skill) {
	s.Source, s.Path = p.source, full
	f.add(s)
}

// each calls use for each file in a place, with name, path and content.
func (f *finder) each(p place, ext string, deep bool, use func(name, full, content string) error) {
	dir, err := p.resolve(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		f.problem(p.dir, err)
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.problem(p.dir, err)
		return
	}
	defer root.Close()
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != "." && (!deep || skipped(e.Name()) || strings.Count(file, "/") >= maxDepth):
			return fs.SkipDir
		case e.IsDir() || path.Ext(file) != ext:
			return nil
		}
		if n++; n > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		full := filepath.Join(dir, filepath.FromSlash(file))
		name := strings.ReplaceAll(strings.TrimSuffix(file, ext), "/", ":")
		content, err := read(root, file)
		if err == nil && !usable(name) {
			err = errors.New("its name cannot be used as a command; use only letters, digits and hyphens")
		}
		if err == nil {
			err = use(name, full, content)
		}
		if err != nil {
			f.problem(full, err)
		}
		return nil
	})
	if err != nil {
		f.problem(p.dir, err)
	}
}

// Agent is a subagent type, read from a file in Claude Code format.
type Agent struct {
	Name        string
	Description string
	Tools       []string // nil allows all
	Model       string   // "" means the session's model
	Mode        string   // permission mode; "" means the session's mode
	MaxTurns    int      // 0 means the default
	Prompt      string
	Source      Source
	Path        string
}

// agents adds agents.
func (f *finder) agents(p place) {
	f.each(p, ".md", true, func(name, full, content string) error {
		d, err := parse(content)
		if err != nil {
			return err
		}
		s := d.skill(path.Base(strings.ReplaceAll(name, ":", "/")))
		if d.text("description") == "" || s.Instructions == "" {
			return errors.New("an agent needs a description and a prompt")
		}
		a := Agent{
			Name:        s.Name,
			Description: oneLine(s.Description),
			Model:       s.Model,
			Prompt:      s.Instructions,
			Source:      p.source,
			Path:        full,
		}
		if v, given := d.fields["tools"]; given {
			a.Tools = v.list
			if a.Tools == nil {
				a.Tools = splitTools(v.text)
			}
		}
		if a.Model == "inherit" {
			a.Model = ""
		}
		a.Mode = d.text("mode") + d.text("permissionMode")
		if turns := d.text("max_turns") + d.text("maxTurns"); turns != "" {
			if a.MaxTurns, err = strconv.Atoi(turns); err != nil || a.MaxTurns < 1 {
				return fmt.Errorf("max_turns is %q, not a positive number", turns)
			}
		}
		f.registry.addAgent(a)
		return nil
	})
}
