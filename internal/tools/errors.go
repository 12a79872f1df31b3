package tools

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/patch"
	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/tool"
)

// failed returns the failure for an error of the environment about a path.
func failed(err error, p string) *tool.Error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.FileNotFound, "File not found: %s. Check the path, or search for the file by name.", p)
	case errors.Is(err, env.ErrOutside):
		return tool.Errorf(
			tool.PermissionDenied,
			"Permission denied: %s is outside the allowed directories. Use a path inside the working directory.", p,
		)
	case errors.Is(err, env.ErrLink):
		return tool.Errorf(tool.PermissionDenied, "Permission denied: %s was replaced by a symbolic link meanwhile. Try again.", p)
	case errors.Is(err, env.ErrReadOnly):
		return tool.Errorf(tool.PermissionDenied, "Permission denied: %s cannot be changed because the environment is read-only.", p)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "Permission denied: %s. Use another path.", p)
	case errors.Is(err, env.ErrSpecial):
		return tool.Errorf(tool.NotAFile, "%s is a device, pipe or socket. Only regular files can be read and written.", p)
	case errors.Is(err, env.ErrIsDir):
		return tool.Errorf(tool.NotAFile, "%s is a directory. List it to see its contents, or pass the path of a file.", p)
	case errors.Is(err, env.ErrNotDir):
		return tool.Errorf(tool.NotADirectory, "Part of the path %s is a file, not a directory. Check the path.", p)
	case errors.Is(err, env.ErrTooLarge):
		return tool.Errorf(
			tool.TooLarge,
			"%s is too large to read whole. Read the part you need with a command such as grep, head, tail or sed -n.", p,
		)
	case errors.Is(err, fs.ErrExist):
		return tool.Errorf(tool.AlreadyExists, "%s already exists.", p)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Cancelled, "Interrupted: %v", err)
	case errors.Is(err, fs.ErrInvalid):
		return tool.Errorf(tool.ValidationError, "Invalid path %s: %v.", brief(p), reason(err))
	}
	return tool.Errorf(tool.IOError, "%s: %v", brief(p), reason(err))
}

// editFailed returns the failure for an error of edit.Replace or of reading the file.
func editFailed(err error, p string) *tool.Error {
	var e *edit.Error
	if !errors.As(err, &e) {
		return failed(err, p)
	}
	code := tool.EditConflict
	if e.Kind == edit.Undecodable {
		code = tool.BinaryFile
	}
	failure := tool.Errorf(code, "%s was not changed: %v", p, e)
	failure.Details = map[string]any{"kind": string(e.Kind)}
	if len(e.Lines) > 0 {
		failure.Details["lines"] = e.Lines
		failure.Details["count"] = e.Count
	}
	return failure
}

// patchFailed returns the failure for an error of planning a patch.
func patchFailed(err error, outcome string) *tool.Error {
	var e *patch.Error
	if !errors.As(err, &e) {
		return tool.Errorf(tool.PatchError, "%v. %s", err, outcome)
	}
	code := tool.EditConflict
	switch e.Kind {
	case patch.FileNotFound:
		code = tool.FileNotFound
	case patch.Undecodable:
		code = tool.BinaryFile
	case patch.Empty:
		code = tool.PatchError
	case patch.Unreadable:
		cause := failed(e.Err, e.Path)
		switch cause.Code {
		case tool.NotRead:
			return tool.Errorf(tool.NotRead, "%s %s", cause.Message, outcome)
		case tool.IOError:
		default:
			code = cause.Code
		}
	}
	failure := tool.Errorf(code, "%v. %s", e, outcome)
	failure.Details = map[string]any{"kind": string(e.Kind), "path": e.Path, "patch_line": e.PatchLine}
	return failure
}

// searchFailed returns the failure for an error of a search.
func searchFailed(err error, p string) *tool.Error {
	var pe *search.PatternError
	if errors.As(err, &pe) {
		return tool.Errorf(tool.InvalidPattern, "%v.", pe)
	}
	return failed(err, p)
}

// startFailed returns the failure for a command that could not be started.
func startFailed(err error) *tool.Error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, env.ErrReadOnly):
		return tool.Errorf(tool.PermissionDenied, "Permission denied: the environment is read-only and cannot run commands.")
	case errors.Is(err, env.ErrNoCommands):
		return tool.Errorf(tool.PermissionDenied, "This environment cannot run commands. Use the file tools instead.")
	case errors.Is(err, env.ErrTooLong):
		return tool.Errorf(tool.ValidationError, "The command is too long for one command line. Write it to a script and run that.")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return failed(err, "the command")
	}
	return tool.Errorf(tool.IOError, "The command could not be started: %s", brief(err.Error()))
}

// reason returns an error without its operation and path, which the message already names.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// brief returns a path for a message: shortened, and quoted if it is empty or has control characters.
func brief(p string) string {
	if len(p) > 200 {
		p = strings.ToValidUTF8(p[:200], "") + "…"
	}
	if p == "" || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(p)
	}
	return p
}
