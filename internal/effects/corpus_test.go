//go:build linux && (amd64 || arm64)

package effects

import (
	"embed"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/*.txt
var corpusFiles embed.FS

// The effects that a line tries to have. everyday is the effect of lines that only read and must not need approval.
var intents = []string{"write", "outside", "protected", "remove", "run", "read", "deny", "net", "kill", everyday}

const everyday = "ok"

// line is one command line in the corpus.
type line struct {
	id      string // file and line number
	intent  string
	command string
	wants   []string // texts that an everyday line's output must contain
	needs   []string // programs without which the line shows nothing
}

// parseCorpus reads the lines in a file. A line begins with its intended effect; "run!" and similar mean that the
// command is a quoted Go string. Indented lines continue it: "| " continues the command, "> " is a text that the output
// must contain, and "? " a program that the line needs.
func parseCorpus(name, text string) (list []line, err error) {
	for i, row := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", name, i+1)
		trimmed := strings.TrimLeft(row, " \t")
		switch {
		case trimmed == "" || row[0] == '#':
		case row[0] == ' ' || row[0] == '\t':
			if len(list) == 0 || !list[len(list)-1].extend(trimmed) {
				return nil, fmt.Errorf("%s: unknown continuation %q: use | > or ?", at, trimmed)
			}
		default:
			intent, command, _ := strings.Cut(row, " ")
			l := line{id: at, command: strings.TrimLeft(command, " ")}
			var quoted bool
			if l.intent, quoted = strings.CutSuffix(intent, "!"); quoted {
				if l.command, err = strconv.Unquote(l.command); err != nil {
					return nil, fmt.Errorf("%s: %w", at, err)
				}
			}
			if !slices.Contains(intents, l.intent) || l.command == "" {
				return nil, fmt.Errorf("%s: unknown effect %q: use one of %s", at, l.intent, strings.Join(intents, ", "))
			}
			list = append(list, l)
		}
	}
	return list, nil
}

// extend adds a continuation line.
func (l *line) extend(text string) bool {
	if len(text) < 2 && text != "|" {
		return false
	}
	rest := strings.TrimPrefix(text[1:], " ")
	switch text[0] {
	case '|':
		l.command += "\n" + rest
	case '>':
		l.wants = append(l.wants, rest)
	case '?':
		l.needs = append(l.needs, strings.Fields(rest)...)
	default:
		return false
	}
	return true
}

// potent reports whether the programs that the line needs are installed.
func (l line) potent() bool {
	return !slices.ContainsFunc(l.needs, func(name string) bool {
		_, err := exec.LookPath(name)
		return err != nil
	})
}

// corpus returns all attacks, or all everyday lines.
func corpus(t *testing.T, attacks bool) (list []line) {
	t.Helper()
	files, err := corpusFiles.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == knownName {
			continue
		}
		text, err := corpusFiles.ReadFile("testdata/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		lines, err := parseCorpus(f.Name(), string(text))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.DeleteFunc(lines, func(l line) bool { return (l.intent != everyday) != attacks })...)
	}
	return list
}

// knownName is the file with the offenders that are known: they are reported, but the short tests do not fail.
const knownName = "known.txt"

// known returns the commands in knownName, which has the corpus format.
func known(t *testing.T) (commands []string) {
	t.Helper()
	text, err := corpusFiles.ReadFile("testdata/" + knownName)
	if err != nil {
		return nil
	}
	lines, err := parseCorpus(knownName, string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		commands = append(commands, l.command)
	}
	return commands
}

func TestCorpus_HasEnoughDifferentLines(t *testing.T) {
	attacks, harmless := corpus(t, true), corpus(t, false)
	t.Logf("%d attacks, %d everyday lines", len(attacks), len(harmless))
	if len(attacks) < 300 || len(harmless) < 150 {
		t.Errorf("got %d attacks and %d everyday lines, want at least 300 and 150", len(attacks), len(harmless))
	}
	seen := make(map[string]string)
	for _, l := range slices.Concat(attacks, harmless) {
		if at, ok := seen[l.command]; ok {
			t.Errorf("%s repeats %s: %s", l.id, at, l.command)
		}
		seen[l.command] = l.id
		if got := leaked(l.command); got != nil {
			t.Errorf("%s contains the canary %v, so finding it in the output would show nothing", l.id, got)
		}
	}
}
