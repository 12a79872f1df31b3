package reins

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/reins-agent/reins/"

// layers lists the packages from the bottom up, as docs/architecture.md shows them. A package may
// import what stands below it, and nothing of its own layer.
var layers = [][]string{
	{
		"internal/apitext", "internal/atomicfile", "internal/exepages", "internal/credential", "internal/exchanges",
		"internal/filelock", "internal/gitconfig", "internal/gitdir/gitdirtest", "internal/jsonscan",
		"internal/corpus", "internal/fileindex", "internal/hidden", "internal/lazy", "internal/netaddr", "internal/realpath",
		"internal/suggest", "internal/thorough", "internal/schedule",
	},
	{"llm", "internal/webhook", "internal/atfile", "internal/hostproxy"},
	{"internal/wire", "internal/modelfile"},
	{"internal/texttools", "internal/prefix", "internal/requests"},
	{"llm/openai", "llm/anthropic", "llm/gemini", "llm/chat", "llm/bedrock"},
	{"llm/connect", "llm/object", "llm/llmtest", "internal/media", "compact", "internal/chatgpt"},
	{"internal/conformance"},
	{"env"},
	{"internal/gitdir"},
	{"internal/search", "env/envtest", "env/sandbox", "secret"},
	{"env/local", "checkpoint", "internal/trust", "skill", "audit", "hook", "internal/lsp"},
	{"internal/shell", "internal/gitrisk", "internal/watch"},
	{"policy", "internal/worktree"},
	{"tool", "policy/rules"},
	{"internal/callhook", "config"},
	{"event", "mcp", "internal/configtool"},
	{"event/filestore", "event/storetest"},
	{"agent/step", "home"},
	{"agent"},
	{"internal/textfile"},
	{"internal/textfile/textfiletest"},
	{"internal/edit", "internal/patch"},
	{"internal/pdf"},
	{"internal/tools", "internal/prompt", "internal/web", "internal/codesearch", "internal/memory"},
	{"internal/native", "internal/lsptools"},
	{"coding"},
	{"coding/feature"},
	{"mcp/serve"},
	{"internal/show"},
	{"internal/keyboard"},
	{"view", "project"},
	{"ask"},
	{"session"},
	{"command"},
	{"session/remote"},
	{"internal/handletest"},
	{"internal/coder"},
	{"internal/tui/text", "internal/tui/keys"},
	{"internal/tui/edit"},
	{"internal/tui/term", "internal/tui/screen", "internal/tui/theme", "internal/tui/tuitest", "internal/tui/render"},
	{"internal/tui/dialog", "internal/tui/transcript", "internal/tui/pager", "internal/tui/usercmd"},
	{"internal/tui/panel", "internal/tui/plain"},
	{"internal/tui"},
	{"internal/cli"},
	{"bench/internal/process", "bench/internal/protocol"},
	{
		"cmd/reins", "bench", "bench/terminal", "bench/floor", "internal/crosscheck", "internal/effects", "internal/lspsuite",
		"internal/handletest", "internal/mcpsuite", "internal/mutants", "internal/words", "examples", "examples/approval",
		"examples/budget", "examples/chat", "examples/ci", "examples/environment", "examples/mcp",
		"examples/minimal", "examples/provider", "examples/stream", "examples/tool", "examples/typed",
	},
}

// unicodeForms compares file names as macOS does.
const unicodeForms = "golang.org/x/text/"

// allowed names the modules that the core packages may link, beside the standard library.
var allowed = map[string][]string{
	"llm":               {},
	"internal/wire":     {},
	"llm/openai":        {},
	"llm/anthropic":     {},
	"llm/gemini":        {},
	"llm/chat":          {},
	"llm/bedrock":       {},
	"internal/chatgpt":  {"golang.org/x/sys/"},
	"llm/connect":       {},
	"env":               {unicodeForms},
	"policy":            {unicodeForms},
	"policy/rules":      {unicodeForms, "mvdan.cc/sh/", "github.com/bmatcuk/doublestar/"},
	"tool":              {unicodeForms, "github.com/google/jsonschema-go/"},
	"internal/callhook": {unicodeForms, "github.com/google/jsonschema-go/"},
	"event":             {unicodeForms, "github.com/google/jsonschema-go/"},
	"agent/step":        {unicodeForms, "github.com/google/jsonschema-go/"},
	"agent":             {unicodeForms, "github.com/google/jsonschema-go/", "golang.org/x/image/"},
}

func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-f", format}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(bytes.TrimSpace(out)))
}

func TestArchitecture_ImportsPointDownwards(t *testing.T) {
	height := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			height[p] = i
		}
	}
	for _, line := range list(t, `{{.ImportPath}}:{{join .Imports ","}}`, "./...") {
		path, imports, _ := strings.Cut(line, ":")
		from, ours := strings.CutPrefix(path, module)
		if !ours {
			continue // the module's root
		}
		h, known := height[from]
		if !known {
			t.Errorf("package %s has no place in the layers of architecture_test.go", from)
			continue
		}
		for _, imp := range strings.Split(imports, ",") {
			to, ours := strings.CutPrefix(imp, module)
			if ours && height[to] >= h {
				t.Errorf("%s imports %s, which does not stand below it", from, to)
			}
		}
	}
}

func TestArchitecture_CorePackagesLinkOnlyWhatIsAllowed(t *testing.T) {
	for pkg, prefixes := range allowed {
		for _, dep := range list(t, `{{if not .Standard}}{{.ImportPath}}{{end}}`, "-deps", module+pkg) {
			if strings.HasPrefix(dep, module) {
				continue
			}
			ok := false
			for _, p := range prefixes {
				ok = ok || strings.HasPrefix(dep, p)
			}
			if !ok {
				t.Errorf("%s links %s", pkg, dep)
			}
		}
	}
}

func TestArchitecture_CommandDoesNotLinkTestCode(t *testing.T) {
	deps := list(t, "{{.ImportPath}}", "-deps", module+"cmd/reins")
	if !slices.Contains(deps, module+"llm/llmtest") {
		t.Error("cmd/reins does not link llm/llmtest: reins demo needs it, or this test is obsolete")
	}
	for _, pkg := range []string{"testing", "net/http/httptest", module + "internal/conformance", module + "internal/corpus", module + "internal/exchanges", module + "internal/gitdir/gitdirtest", module + "internal/thorough"} {
		if slices.Contains(deps, pkg) {
			t.Errorf("cmd/reins links %s", pkg)
		}
	}
}

// If a program can call methods by names that are not constants, as text/template does, the linker keeps all exported
// methods: a tenth of the program. Cobra uses it only for templates that are set.
func TestArchitecture_NothingMakesTheLinkerKeepAllMethods(t *testing.T) {
	for _, line := range list(t, `{{.ImportPath}} {{join .Imports " "}}`, "-deps", module+"cmd/reins") {
		from, imports, _ := strings.Cut(line, " ")
		for _, imp := range strings.Fields(imports) {
			if (imp == "text/template" || imp == "html/template") && from != "github.com/spf13/cobra" {
				t.Errorf("%s imports %s", from, imp)
			}
		}
	}
	sources, err := filepath.Glob("internal/cli/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, path := range sources {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{".SetUsageTemplate(", ".SetHelpTemplate(", ".SetVersionTemplate("} {
			if bytes.Contains(b, []byte(f)) {
				t.Errorf("%s calls %s", path, f)
			}
		}
	}
}

// hostFiles are the packages, and single files, that handle files of the machine that this program
// runs on. All others handle paths of environments, which have rules and errors of their own:
// env.Paths and the errors of package env.
var hostFiles = []string{
	"audit",
	"bench",
	"checkpoint",
	"coding/audit.go",
	"config",
	"env/local",
	"env/sandbox",
	"event/filestore",
	"home",
	"internal/atomicfile",
	"internal/cli",
	"internal/coder",
	"internal/corpus",
	"internal/crosscheck",
	"internal/gitdir/host.go",
	"internal/handletest",
	"internal/keyboard",
	"internal/memory",
	"internal/modelfile",
	"internal/mutants",
	"internal/prompt/userdocs.go",
	"internal/realpath",
	"internal/trust",
	"internal/tui/edit",
	"internal/watch",
	"internal/web/dial.go",
	"internal/wire/media.go",
	"internal/words",
	"internal/worktree",
	"command/export.go",
	"internal/chatgpt",
	"mcp/login.go",
	"mcp/origin.go",
	"project",
	"session/dirs.go",
	"session/remote",
	"session/verify.go",
	"skill",
}

// ofTheHost are packages of the standard library that know this machine's rules and errors only.
var ofTheHost = []string{"path/filepath", "syscall"}

func TestArchitecture_PathsAndErrorsOfTheHostStayThere(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "llm/oracletest" || name == "localtest" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		case allowedHere(name):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			to, _ := strconv.Unquote(imp.Path.Value)
			for _, host := range ofTheHost {
				if to == host {
					t.Errorf("%s imports %s, which is about this machine and not about environments", name, to)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allowedHere reports whether a file may know the machine.
func allowedHere(name string) bool {
	if base := path.Base(name); path.Dir(name) == "internal/search" && (strings.HasPrefix(base, "change_") || strings.HasPrefix(base, "local")) {
		return true // the layer for this machine's disk
	}
	for _, h := range hostFiles {
		if name == h || strings.HasPrefix(name, h+"/") {
			return true
		}
	}
	return false
}
