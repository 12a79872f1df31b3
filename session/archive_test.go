package session_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/tool"
)

// content returns everything in a tar archive.
func content(t *testing.T, archive []byte) string {
	t.Helper()
	var all strings.Builder
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(h.Name + "\n")
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExport_ReplacesSecretsInTextsAndBlobs(t *testing.T) {
	const key, word = "ghp_0123456789abcdefghijABCDEFGHIJ456789", "correct-horse-battery"
	s := newShelf(t)
	s.Secrets = func(ctx context.Context, dir string) (*secret.Redactor, error) {
		if dir != s.project {
			t.Errorf("secrets of %q were asked for", dir)
		}
		return secret.New(ctx, secret.Config{Patterns: []string{word}})
	}
	long := strings.Repeat("x", 100_000) + " " + key
	s.save(event.Meta{ID: "abc", Title: word, Prompt: key, Dir: s.project}, time.Hour,
		input("use "+key+" and "+word),
		event.ToolCallStart{ID: "1", Name: "shell", Arguments: []byte(`{"command":"` + word + `"}`)},
		event.ToolCallEnd{ID: "1", Name: "shell", Output: tool.Text(long), Model: key})
	redacted := content(t, s.archive(session.ExportOptions{Session: "ABC"}))
	if strings.Contains(redacted, key) || strings.Contains(redacted, word) || !strings.Contains(redacted, "[redacted:") {
		t.Errorf("the archive has secrets or no placeholders:\n%.2000s", redacted)
	}
	whole := content(t, s.archive(session.ExportOptions{Session: "abc", Secrets: true}))
	if !strings.Contains(whole, key) || !strings.Contains(whole, word) {
		t.Error("with Secrets, the archive lacks them")
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "reins-export-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestExport_WithoutSecretsOfItsOwnKnowsTheFormats(t *testing.T) {
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
	s := newShelf(t)
	s.save(event.Meta{ID: "abc"}, time.Hour, input(key))
	if all := content(t, s.archive(session.ExportOptions{Session: "abc"})); strings.Contains(all, key) {
		t.Errorf("the archive has the key:\n%s", all)
	}
}

func TestExport_ADamagedSessionOnlyWithItsSecrets(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "abc"}, time.Hour, input("1"), input("2"))
	s.spoil("abc", "log.jsonl", `"text":"1"`, `"text":"X"`)
	var failed *session.RedactError
	var damage *event.CorruptError
	err := s.Export(t.Context(), session.ExportOptions{Session: "abc"}, io.Discard)
	if !errors.As(err, &failed) || failed.Session != "abc" || !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
	s.must(s.Export(t.Context(), session.ExportOptions{Session: "abc", Secrets: true}, io.Discard))
}

func TestImport_OfAnExportedSession(t *testing.T) {
	from, to := newShelf(t), newShelf(t)
	from.save(event.Meta{ID: "abc", Title: "T"}, time.Hour, input("1"), input("2"))
	archive := from.archive(session.ExportOptions{Session: "abc"})
	v, err := to.Import(t.Context(), newReader(archive), session.ImportOptions{})
	if v.ID != "abc" || !v.OK || v.Records != 2 || v.Last != 2 || err != nil {
		t.Errorf("got %+v, %v", v, err)
	}
	m, err := to.Find(t.Context(), "abc")
	if m.Title != "T" || !m.Foreign() || err != nil {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := to.Import(t.Context(), newReader(archive), session.ImportOptions{}); !errors.Is(err, event.ErrExists) {
		t.Errorf("twice: %v", err)
	}
	if _, err := to.Import(t.Context(), newReader(archive), session.ImportOptions{ID: "../up"}); !errors.Is(err, event.ErrBadID) {
		t.Errorf("with a bad ID: %v", err)
	}
	if _, err := to.Import(t.Context(), newReader(archive), session.ImportOptions{ID: "big", MaxSize: 10}); !errors.Is(err, filestore.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	spoilt := bytes.Replace(archive, []byte(`"text":"1"`), []byte(`"text":"X"`), 1)
	v, err = to.Import(t.Context(), newReader(spoilt), session.ImportOptions{ID: "bad"})
	if err == nil || v.OK || len(v.Problems) == 0 {
		t.Errorf("damaged: %+v, %v", v, err)
	}
	v, err = to.Import(t.Context(), newReader(spoilt), session.ImportOptions{ID: "bad", Damaged: true})
	if err != nil || v.OK || v.ID != "bad" || len(v.Problems) == 0 {
		t.Errorf("damaged, as it is: %+v, %v", v, err)
	}
}

func TestArchive_NeedsAStoreThatCan(t *testing.T) {
	m := session.Manager{Store: &event.Memory{}}
	_, imported := m.Import(t.Context(), newReader(nil), session.ImportOptions{})
	var verified error
	for _, verified = range m.Verify(t.Context()) {
	}
	for _, err := range []error{m.Export(t.Context(), session.ExportOptions{}, io.Discard), imported, verified} {
		if !errors.Is(err, session.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	}
}

func TestVerify_SessionsAndCheckpoints(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "good"}, time.Hour, input("1"))
	s.save(event.Meta{ID: "bad"}, 2*time.Hour, input("1"), input("2"))
	s.save(event.Meta{ID: "lost"}, 3*time.Hour, input("1"))
	s.spoil("bad", "log.jsonl", `"text":"1"`, `"text":"X"`)
	s.lose("lost")
	verify := func(want string, names ...string) {
		t.Helper()
		var got []string
		for v, err := range s.Verify(t.Context(), names...) {
			s.must(err)
			state := " ok"
			if !v.OK {
				state = " damaged"
			}
			if v.OK != (len(v.Problems) == 0) {
				t.Errorf("%s: OK is %v, with problems %q", v.ID, v.OK, v.Problems)
			}
			got = append(got, v.ID+state)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	verify("lost damaged, good ok, bad damaged")
	verify("good ok, lost damaged", "go", "LOST", "good")
	for _, err := range s.Verify(t.Context(), "nothing-like-it") {
		if !errors.Is(err, event.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
	for range s.VerifyCheckpoints(t.Context()) {
		t.Error("there are checkpoints")
	}
	store, err := s.Home.OpenCheckpoints(s.project)
	s.must(err)
	s.put("f", "content")
	_, _, err = store.Take(t.Context(), "")
	s.must(err)
	checkpoints := func(want bool) {
		t.Helper()
		n := 0
		for v, err := range s.VerifyCheckpoints(t.Context()) {
			if n++; err != nil || v.OK != want || v.Checkpoints == "" || v.OK != (len(v.Problems) == 0) {
				t.Errorf("got %+v, %v", v, err)
			}
		}
		if n != 1 {
			t.Errorf("got %d checkpoint stores", n)
		}
	}
	checkpoints(true)
	packs, err := filepath.Glob(filepath.Join(s.Home.Checkpoints(), "*", "packs", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	s.must(os.Truncate(packs[0], 3))
	checkpoints(false)
}
