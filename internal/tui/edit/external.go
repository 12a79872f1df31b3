package edit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// External is an external editor for the draft. The caller gives Cmd the terminal, runs it, and calls Finish in any case.
type External struct {
	Cmd *exec.Cmd

	editor *Editor
	dir    string
	file   string
	sent   string
}

// External prepares the user's editor for the draft, in a file that no other user can read. Folded pastes have their text
// there.
func (e *Editor) External(getenv func(string) string) (*External, error) {
	program := cmp.Or(getenv("VISUAL"), getenv("EDITOR"))
	if program == "" {
		return nil, errors.New("no editor: set VISUAL or EDITOR to one, such as EDITOR=vim")
	}
	dir, err := os.MkdirTemp("", "reins-draft-") // with permissions 0700
	if err != nil {
		return nil, fmt.Errorf("cannot open the draft in an editor: %w", err)
	}
	x := &External{editor: e, dir: dir, file: filepath.Join(dir, "message.md"), sent: e.buf.expand(e.buf.text)}
	if err := os.WriteFile(x.file, []byte(x.sent), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the draft in an editor: %w", err), os.RemoveAll(dir))
	}
	x.Cmd = editorCommand(runtime.GOOS, program, x.file)
	return x, nil
}

// editorCommand returns the command for an editor as the user wrote it, with arguments.
func editorCommand(goos, program, file string) *exec.Cmd {
	if goos != "windows" { // as git does
		return exec.Command("/bin/sh", "-c", program+` "$@"`, program, file)
	}
	name, args := program, ""
	if rest, ok := strings.CutPrefix(program, `"`); ok {
		name, args, _ = strings.Cut(rest, `"`)
	} else if _, err := exec.LookPath(program); err != nil {
		name, args, _ = strings.Cut(program, " ")
	}
	return exec.Command(name, append(strings.Fields(args), file)...)
}

// Finish replaces the draft with the file's text, and removes the file. runErr is Cmd's error; after an error the draft
// stays as it was. Pastes whose text is unchanged are folded again.
func (x *External) Finish(runErr error) error {
	defer os.RemoveAll(x.dir)
	if runErr != nil {
		return fmt.Errorf("the editor failed, and the draft is unchanged: %w", runErr)
	}
	info, err := os.Stat(x.file)
	if err == nil && info.Size() > keptBytes {
		return fmt.Errorf("the editor wrote %d bytes, more than %d, and the draft is unchanged", info.Size(), keptBytes)
	}
	data, err := os.ReadFile(x.file)
	if err != nil {
		return fmt.Errorf("cannot read what the editor wrote, and the draft is unchanged: %w", err)
	}
	s := plain(string(data))
	if !strings.HasSuffix(x.sent, "\n") {
		s = strings.TrimSuffix(s, "\n") // editors add it
	}
	if s == x.sent {
		return nil
	}
	e := x.editor
	e.buf.set(e.buf.refold(s, foldsOf(e.buf.text)))
	e.popup, e.closed, e.recalled = nil, -1, 0
	return nil
}
