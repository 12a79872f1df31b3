package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/env"
)

// Server describes a language server.
type Server struct {
	Name    string
	Command []string // the program, as a name in PATH or an absolute path, and its arguments
	// Languages maps file extensions to language identifiers.
	Languages map[string]string
	// Files are the names of other files that the server reads, such as go.mod.
	Files []string
	// Options are the server's initializationOptions, and Settings its configuration by section.
	Options  map[string]any
	Settings map[string]any
	// RunsProject means that the server runs programs from the project, such as build scripts. It is then used only in
	// projects that the user trusts.
	RunsProject bool
	// ReportsStatus means that the server reports when it has loaded the project (experimental/serverStatus).
	ReportsStatus bool
	// CheckToken is set if the server runs a compiler after each save and includes its errors in the diagnostics. It is
	// the prefix of the server's progress tokens for that.
	CheckToken string
	// Check is a command that checks a project without the server.
	Check string

	env     map[string]string // environment variables
	prepare func(ctx context.Context, e env.Environment, s *Server, program string, trusted bool) error
	// diagnose, if set, requests an open document's diagnostics. Diagnostics that the server sends are then ignored.
	diagnose func(ctx context.Context, c *client, path string) ([]diagnostic, error)
}

// Servers returns the default servers.
func Servers() []Server {
	return []Server{
		{
			Name:    "gopls",
			Command: []string{"gopls"},
			Check:   "go vet ./...",

			Languages: map[string]string{".go": "go"},
			Files:     []string{"go.mod", "go.sum", "go.work"},
		}, {
			Name:    "typescript-language-server",
			Command: []string{"typescript-language-server", "--stdio"},
			Check:   "npx tsc --noEmit",

			Languages: map[string]string{
				".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
				".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
			},

			Files:    []string{"tsconfig*.json", "jsconfig.json", "package.json"},
			prepare:  prepareTypeScript,
			diagnose: diagnoseTypeScript,
		}, {
			Name:    "pyright-langserver",
			Command: []string{"pyright-langserver", "--stdio"},
			Check:   "python3 -m compileall -q .",

			Languages: map[string]string{".py": "python", ".pyi": "python"},
			Files:     []string{"pyproject.toml", "pyrightconfig.json"},

			Settings: map[string]any{"python.analysis": map[string]any{"diagnosticMode": "openFilesOnly"}},
		}, {
			Name:          "rust-analyzer",
			Command:       []string{"rust-analyzer"},
			Check:         "cargo check",
			RunsProject:   true,
			ReportsStatus: true,

			CheckToken: "rust-analyzer/flycheck/",
			Languages:  map[string]string{".rs": "rust"},
			Files:      []string{"Cargo.toml", "Cargo.lock"},

			prepare: prepareRust,
		}, {
			Name:    "clangd",
			Command: []string{"clangd", "--log=error"},
			Check:   "make",

			Languages: map[string]string{".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp"},

			Files: []string{"compile_commands.json", "compile_flags.txt"},
		},
	}
}

// language returns a file's language identifier, or "" if the server does not support the file.
func (s Server) language(paths env.Paths, file string) string {
	return s.Languages[strings.ToLower(path.Ext(paths.Base(file)))]
}

// Errors for an unusable server.
var (
	ErrNoServer     = errors.New("there is no language server for this type of file")
	ErrNotInstalled = errors.New("the language server is not installed")
	ErrUntrusted    = errors.New("the language server runs programs of the project, which the user does not trust")
)

// find returns the absolute path of the server's program. Programs in the workspace are not used, because the project
// could choose them.
func (s Server) find(ctx context.Context, e env.Environment, root string) (string, error) {
	name := s.Command[0]
	paths := e.Info().Paths()
	if paths.IsAbs(name) {
		return name, nil
	}
	res, err := env.Exec(ctx, e, env.Command{Line: "command -v -- '" + strings.ReplaceAll(name, "'", `'\''`) + "'"})
	if err != nil {
		return "", err
	}
	program := strings.TrimSpace(res.Stdout)
	if res.Code != 0 || !paths.IsAbs(program) {
		return "", fmt.Errorf("%w: %s", ErrNotInstalled, name)
	}
	if real, err := e.RealPath(ctx, program); err != nil || paths.Within(root, real) || paths.Within(root, program) {
		return "", fmt.Errorf("%w outside of the workspace: %s", ErrNotInstalled, name)
	}
	return program, nil
}

// prepareTypeScript makes the server use the TypeScript that is installed next to it. By default the server runs the
// project's TypeScript, which is allowed only if the project is trusted.
func prepareTypeScript(ctx context.Context, e env.Environment, s *Server, program string, trusted bool) error {
	tsserver := map[string]any{"useSyntaxServer": "never"} // its answers are wrong while the project is being loaded
	s.Options = map[string]any{"disableAutomaticTypingAcquisition": true, "tsserver": tsserver}
	paths := e.Info().Paths()
	real, err := e.RealPath(ctx, program)
	if err != nil {
		return err
	}
	for _, lib := range []string{
		paths.Join(paths.Dir(real), "..", "..", "typescript", "lib"),
		paths.Join(paths.Dir(real), "..", "node_modules", "typescript", "lib"),
	} {
		if _, err := e.Stat(ctx, paths.Join(lib, "tsserver.js")); err == nil {
			tsserver["path"] = lib
			return nil
		}
	}
	if trusted {
		return nil
	}
	return fmt.Errorf("%w; install TypeScript 5 next to it", ErrUntrusted)
}

// prepareRust prevents cargo from repeatedly trying to download crates in a sandbox without network access.
func prepareRust(_ context.Context, e env.Environment, s *Server, _ string, _ bool) error {
	if l := e.Info().Limits; l != nil && l.Sandbox != "" && !l.Network && len(l.Hosts) == 0 {
		s.env = map[string]string{"CARGO_NET_OFFLINE": "true"}
	}
	return nil
}

// diagnoseTypeScript requests diagnostics from TypeScript directly. Those that the server sends have no version, come
// in parts, and are not sent at all while a file has no errors.
func diagnoseTypeScript(ctx context.Context, c *client, path string) (all []diagnostic, err error) {
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var got struct {
			Body []struct {
				Start    struct{ Line, Offset int } // from 1
				Text     string
				Code     int
				Category string
			}
		}
		arguments := []any{command, map[string]any{"file": uriOf(c.paths, path)}, map[string]any{}}
		params := map[string]any{"command": "typescript.tsserverRequest", "arguments": arguments}
		if err := c.request(ctx, "workspace/executeCommand", params, &got); err != nil {
			return nil, err
		}
		for _, d := range got.Body {
			at := position{d.Start.Line - 1, d.Start.Offset - 1}
			severity := map[string]Severity{"error": Error, "warning": Warning, "suggestion": Hint}[d.Category]
			all = append(all, diagnostic{
				Range:    span{at, at},
				Severity: int(cmp.Or(severity, Info)),
				Code:     json.RawMessage(strconv.Itoa(d.Code)),
				Source:   "ts",
				Message:  d.Text,
			})
		}
	}
	return all, nil
}

// suffixes returns the server's file extensions, without dots and sorted.
func (s Server) suffixes() (all []string) {
	for ext := range s.Languages {
		all = append(all, strings.TrimPrefix(ext, "."))
	}
	slices.Sort(all)
	return all
}
