package reins

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/reins-agent/reins/"

// layers lists the packages from the bottom up, as docs/architecture.md shows them. A package may
// import what stands below it, and nothing of its own layer.
var layers = [][]string{
	{"internal/jsonscan", "internal/corpus"},
	{"llm"},
	{"llm/wire"},
	{"llm/openai", "llm/anthropic", "llm/gemini", "llm/chat"},
	{"llm/connect", "llm/object", "llm/llmtest", "llm/picture", "compact"},
	{"env"},
	{"env/search", "env/envtest"},
	{"env/local", "checkpoint"},
	{"policy"},
	{"tool"},
	{"event"},
	{"event/filestore", "event/storetest"},
	{"agent"},
	{"coding/textfile"},
	{"coding/textfile/textfiletest"},
	{"coding/edit", "coding/patch"},
	{"coding/engine"},
	{"coding/native"},
	{"coding"},
	{"host/cli"},
	{"cmd/reins", "bench", "bench/floor", "internal/crosscheck"},
}

// allowed names the modules that the core packages may link, beside the standard library.
var allowed = map[string][]string{
	"llm":           {},
	"llm/wire":      {},
	"llm/openai":    {},
	"llm/anthropic": {},
	"llm/gemini":    {},
	"llm/chat":      {},
	"llm/connect":   {},
	"env":           {"golang.org/x/", "github.com/google/jsonschema-go/"},
	"policy":        {"golang.org/x/", "github.com/google/jsonschema-go/", "mvdan.cc/sh/"},
	"tool":          {"golang.org/x/", "github.com/google/jsonschema-go/", "mvdan.cc/sh/"},
	"event":         {"golang.org/x/", "github.com/google/jsonschema-go/", "mvdan.cc/sh/"},
	"agent":         {"golang.org/x/", "github.com/google/jsonschema-go/", "mvdan.cc/sh/"},
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
