package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

type updateIn struct {
	Action  string `json:"action"`
	Title   string `json:"title"`
	Content string `json:"content"`
	ID      string `json:"id"`
	Scope   Scope  `json:"scope"`

	// Other names of Content and ID.
	Knowledge string `json:"knowledge_to_store"`
	Existing  string `json:"existing_knowledge_id"`
}

const updateSchema = `{"type":"object","properties":{"action":{"enum":["create","update","delete"]},` +
	`"title":{"type":"string","description":"short title"},"content":{"type":"string","description":"the note, in Markdown"},` +
	`"id":{"type":"string","description":"id of the note to update or delete"},"scope":{"enum":["project","user"],` +
	`"description":"default project"},` +
	`"knowledge_to_store":{"type":"string"},"existing_knowledge_id":{"type":"string"}},"required":["action"],"additionalProperties":false}`

// Tool returns update_memory. It refuses notes with secrets that the redactor knows.
func Tool(s Store, secrets *secret.Redactor) tool.Tool {
	m := memory{s, secrets}
	t := tool.New(tool.Spec{
		Name:    "update_memory",
		Version: "1.0.0",
		Input:   json.RawMessage(updateSchema),

		Description: "Save a note for later sessions, or change one. Only for lasting facts that the code does not show.",

		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite},
		SideEffects: "changes the memory file",
		Destructive: true,
		OpenWorld:   true,
	}, func(_ context.Context, _ *tool.Call, in updateIn) []policy.Access {
		return []policy.Access{{Kind: policy.Write, Target: s.real(in.scope()), Host: true}}
	}, m.update)
	return tool.WithPreview(t, m.preview)
}

// memory implements the tool.
type memory struct {
	Store
	secrets *secret.Redactor
}

func (in updateIn) scope() Scope { return cmp.Or(in.Scope, Project) }

// real returns a scope's file without symbolic links.
func (s Store) real(scope Scope) string {
	p := s.Path(scope)
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
		return filepath.Join(dir, filepath.Base(p))
	}
	return p
}

func (m memory) update(ctx context.Context, _ *tool.Call, in updateIn) (res tool.Result, err error) {
	err = m.locked(ctx, func() error {
		_, after, n, err := m.plan(in)
		if err == nil {
			err = m.write(in.scope(), after)
		}
		if err != nil {
			return err
		}
		res = tool.Success(
			"%sd the note %q (id: %s) in the %s memory.",
			strings.ToUpper(in.Action[:1])+in.Action[1:], n.Title, n.ID, in.scope(),
		)
		res.Fields = map[string]any{"id": n.ID, "scope": string(in.scope())}
		res.Artifacts.FilesChanged = []string{m.real(in.scope())}
		return nil
	})
	var known *tool.Error
	if err != nil && !errors.As(err, &known) && ctx.Err() == nil {
		err = tool.Errorf(tool.IOError, "The memory was not changed: %v.", err)
	}
	return res, err
}

func (m memory) preview(_ context.Context, _ *tool.Call, in updateIn) (tool.Preview, error) {
	before, after, _, err := m.plan(in)
	if err != nil {
		return tool.Preview{}, err
	}
	return tool.Preview{Changes: []tool.Change{{
		Path:    m.real(in.scope()),
		Before:  before,
		After:   []byte(after),
		Existed: before != nil,
		Exists:  true,
	}}}, nil
}

// plan determines a call's effect.
func (m memory) plan(in updateIn) (before []byte, after string, n Note, err error) {
	before, err = m.read(in.scope())
	if err != nil {
		return nil, "", n, err
	}
	f := parse(string(before))
	if before == nil {
		f.head = m.head(in.scope())
	}
	if n = in.note(); in.Action != "delete" {
		err = m.check(n, string(before))
	}
	if err == nil {
		n, err = f.change(in, n)
	}
	after = f.String()
	if err == nil && len(after) > maxSize {
		err = tool.Errorf(
			tool.TooLarge,
			"The memory is full: it would have more than %d KiB. Delete notes that are no longer needed.", maxSize>>10,
		)
	}
	return before, after, n, err
}

// note returns a call's note. It lowers heading levels in the text, so that they do not start another note.
func (in updateIn) note() Note {
	n := Note{ID: cmp.Or(in.ID, in.Existing), Title: strings.TrimSpace(in.Title)}
	for line := range strings.Lines(strings.TrimSpace(cmp.Or(in.Content, in.Knowledge))) {
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ") {
			line = "### " + strings.TrimLeft(line, "# ")
		}
		n.Text += line
	}
	return n
}

// check refuses notes that must not become part of later prompts.
func (m memory) check(n Note, before string) error {
	refuse := func(format string, args ...any) error {
		return tool.Errorf(tool.ValidationError, "Note not saved: "+format, args...)
	}
	text := n.Title + "\n" + n.Text
	switch control := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); {
	case n.Text == "":
		return refuse("content is empty.")
	case len(n.Title) > maxTitle || strings.Contains(n.Title, "\n"):
		return refuse("the title must be one line of at most %d bytes.", maxTitle)
	case len(n.Text) > maxNote:
		return refuse("it has more than %d bytes. Keep only what later sessions need.", maxNote)
	case control >= 0 || hidden.Find(text) != nil:
		return refuse("it contains invisible characters.")
	case m.secrets.Text(text) != text || secret.Added([]byte(before), []byte(text)) != "":
		return refuse("it has a secret, or a placeholder for one.")
	}
	return nil
}

// change applies a call to the notes, and returns the changed or deleted note.
func (f *file) change(in updateIn, n Note) (Note, error) {
	at := slices.IndexFunc(f.notes, func(old Note) bool { return old.ID == cmp.Or(n.ID, slug(n.Title)) })
	if in.Action == "create" {
		n.ID = slug(n.Title)
		switch {
		case n.Title == "":
			return n, tool.Errorf(tool.ValidationError, "Note not saved: it needs a title.")
		case slices.ContainsFunc(f.notes, func(old Note) bool { return old.ID == n.ID }):
			return n, tool.Errorf(tool.AlreadyExists, "A note with the id %s already exists. Update it, or choose another title.", n.ID)
		}
		f.notes = append(f.notes, n)
		return n, nil
	}
	if at < 0 {
		return n, tool.Errorf(tool.ValidationError, "Unknown note ID %q; %s.", cmp.Or(n.ID, slug(n.Title)), f.ids())
	}
	old := f.notes[at]
	f.notes = slices.Delete(f.notes, at, at+1)
	if in.Action == "delete" {
		return old, nil
	}
	n.Title = cmp.Or(n.Title, old.Title)
	if n.ID = slug(n.Title); slices.ContainsFunc(f.notes, func(other Note) bool { return other.ID == n.ID }) {
		return n, tool.Errorf(tool.AlreadyExists, "Another note has the title %q.", n.Title)
	}
	f.notes = append(f.notes, n) // the newest
	return n, nil
}

// ids returns a clause that lists the notes' IDs.
func (f *file) ids() string {
	if len(f.notes) == 0 {
		return "there are none"
	}
	var list []string
	for _, n := range f.notes {
		list = append(list, n.ID)
	}
	return "the ids are " + strings.Join(list, ", ")
}
