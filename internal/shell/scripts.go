package shell

import (
	"slices"
	"strings"
	"unicode"
)

// sed handles sed, whose scripts can write files and run commands.
func (in *invocation) sed() output {
	if in.asksVersion() {
		return text
	}
	c := in.sedCommand()
	if !c.certain {
		in.unknown("a name may be an option of sed")
	}
	if c.fromFile {
		in.unknown("sed runs a script from a file")
	}
	for _, g := range c.scripts {
		in.sedScript(g)
	}
	for _, g := range c.files {
		switch {
		case c.edits:
			in.uses(Write, g)
			in.sedBackup(g, c.suffix)
		case !g.is("-"):
			in.uses(Read, g)
		}
	}
	return text
}

// sedCommand classifies sed's words.
type sedCommand struct {
	files, scripts []arg
	fromFile       bool // a script is in a file
	edits          bool // the files are edited
	suffix         string
	certain        bool // no other word may be an option
}

func (in *invocation) sedCommand() (c sedCommand) {
	p := program{values: "l", valuesLong: []string{"line-length"}, patterns: "ef", patternsLong: []string{"expression", "file"}}
	args := c.takeEdits(in.args)
	var opts []option
	opts, c.files, c.certain = p.parse(args)
	c.certain = c.certain || !slices.ContainsFunc(args, func(g arg) bool {
		_, ok := g.text()
		return !ok && g.maybeOption() && !g.numbered()
	})
	for _, o := range opts {
		switch {
		case o.in("e", []string{"expression"}):
			c.scripts = append(c.scripts, o.value)
		case o.in("f", []string{"file"}):
			c.fromFile = true
		}
	}
	if !c.fromFile && len(c.scripts) == 0 && len(c.files) > 0 {
		c.scripts, c.files = c.files[:1], c.files[1:]
	}
	return c
}

// takeEdits returns the words without -i. GNU's -i and -s take no separate value, and -i ends its word.
func (c *sedCommand) takeEdits(words []arg) (args []arg) {
	for i, g := range words {
		w, ok := g.text()
		if ok && w == "--" {
			return append(args, words[i:]...)
		}
		if ok && len(w) > 1 && w[0] == '-' && w[1] != '-' {
			if at := strings.IndexByte(w, 'i'); at > 0 && !strings.ContainsAny(w[:at], "efl") {
				if c.edits, c.suffix = true, w[at+1:]; at == 1 {
					continue
				}
				g = literal(w[:at])
			}
		}
		if ok && strings.HasPrefix(w, "--i") {
			c.edits = true
			_, c.suffix, _ = strings.Cut(w, "=")
			continue
		}
		args = append(args, g)
	}
	return args
}

// sedBackup records the file that sed -i makes from an edited file. In the suffix, "*" stands for its name.
func (in *invocation) sedBackup(g arg, suffix string) {
	if suffix == "" {
		return
	}
	name, ok := g.text()
	if !ok && len(g) == 1 && g[0].known && !strings.ContainsAny(suffix, "/*") {
		name, ok = g[0].text, true
	}
	if !ok {
		in.unknown("sed -i writes its backup to a file whose name is only known when it runs")
		return
	}
	dir, base := name[:strings.LastIndexByte(name, '/')+1], name[strings.LastIndexByte(name, '/')+1:]
	if !strings.Contains(suffix, "*") {
		suffix = "*" + suffix
	}
	backup := strings.ReplaceAll(suffix, "*", base)
	if !strings.Contains(backup, "/") {
		backup = dir + backup
	}
	in.uses(Write, arg{{text: backup, known: true, glob: g[0].glob}})
}

func (in *invocation) sedScript(g arg) {
	script, ok := "", false
	if len(g) == 1 {
		script, ok = g[0].shape()
	}
	if ok && sedOnlyPrints(script) {
		return
	}
	in.unknown("its sed script may write files or run commands")
	for i := range len(script) {
		if script[i] == 'w' || script[i] == 'W' || script[i] == 'e' {
			name, _, _ := strings.Cut(script[i+1:], "\n")
			in.effect.Mentions = append(in.effect.Mentions, in.mentioned(strings.TrimSpace(name))...)
		}
	}
}

// sedOnlyPrints reports whether a sed script certainly has no command that uses files or runs programs.
func sedOnlyPrints(s string) bool {
	for {
		s = strings.TrimLeft(s, " \t\n;{}")
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return false
		}
		s = strings.TrimLeft(s, " \t!")
		if s == "" {
			return true
		}
		command := s[0]
		s = s[1:]
		switch command {
		case '{', '}':
		case 'p', 'P', 'd', 'D', 'g', 'G', 'h', 'H', 'x', 'n', 'N', '=', 'z', 'F':
		case 'q', 'Q', 'l':
			s = strings.TrimLeft(s, " 0123456789")
		case 'b', 't', 'T', ':':
			s = strings.TrimLeft(s, " \t") // a label ends at a blank in some versions
			s = s[strings.IndexAny(s+";", "; \t\n}"):]
		case '#':
			s = s[strings.Index(s+"\n", "\n"):]
		case 'a', 'i', 'c':
			return !strings.Contains(s, "\n") // text up to the line end
		case 's', 'y':
			if s, ok = sedSubstitute(s, command == 's'); !ok {
				return false
			}
		default:
			return false
		}
		if s = strings.TrimLeft(s, " \t"); s != "" && !strings.ContainsRune(";\n}{", rune(s[0])) && command != '{' && command != '}' {
			return false
		}
	}
}

// sedAddress skips a command's address.
func sedAddress(s string) (string, bool) {
	for {
		s = strings.TrimLeft(s, " \t,")
		switch {
		case s == "":
			return s, true
		case strings.ContainsRune("0123456789$+~", rune(s[0])):
			s = s[1:]
		case s[0] == '/' || s[0] == '\\' && len(s) > 1:
			if s[0] == '\\' {
				s = s[1:]
			}
			rest, ok := delimited(s[1:], s[0])
			if !ok {
				return s, false
			}
			s = strings.TrimLeft(rest, "IM")
		default:
			return s, true
		}
	}
}

// sedSubstitute skips the parts and flags of s and y.
func sedSubstitute(s string, flags bool) (string, bool) {
	if s == "" || s[0] == '\n' || s[0] == '\\' {
		return s, false
	}
	d := s[0]
	s, ok := delimited(s[1:], d)
	if ok {
		s, ok = delimited(s, d)
	}
	if ok && flags {
		s = strings.TrimLeft(s, "gpiIM0123456789")
	}
	return s, ok
}

// delimited returns the text after the next unescaped delimiter.
func delimited(s string, d byte) (string, bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case d:
			return s[i+1:], true
		case '[': // a delimiter in brackets depends on the implementation
			if end := strings.IndexByte(s[i+1:], ']'); end >= 0 && strings.IndexByte(strings.ReplaceAll(s[i+1:i+1+end], `\`+string(d), ""), d) >= 0 {
				return s, false
			}
		}
	}
	return s, false
}

// awk handles awk, whose programs can write files and run commands.
func (in *invocation) awk() output {
	if in.asksVersion() {
		return text
	}

	rest, program, loads := in.awkWords()
	if loads != "" {
		in.unknown("awk " + loads + " may load code")
	}
	source, ok := program.text()
	if program == nil || !ok || !awkOnlyPrints(source) {
		in.unknown("its awk program may write files or run commands")
		in.effect.Mentions = append(in.effect.Mentions, in.mentioned(source)...)
	}
	if len(rest) > 1 {
		for _, g := range rest[1:] {
			if w, ok := g.text(); ok && isAssignment(g) && !strings.Contains(w, "/") {
				continue
			}
			in.uses(Read, g)
		}
	}
	return text
}

// awkWords splits the words of awk into those from the program on and the program. loads is the first option that
// may load code.
func (in *invocation) awkWords() (rest []arg, program arg, loads string) {
	rest = in.args
	for len(rest) > 0 && program == nil {
		w, ok := rest[0].text()
		switch {
		case ok && (w == "-F" || w == "-v") && len(rest) > 1:
			if rest[1].several() && loads == "" {
				loads = w // the value may be more words
			}
			rest = rest[2:]
		case ok && len(w) > 2 && (w[:2] == "-F" || w[:2] == "-v"):
			rest = rest[1:]
		case ok && w == "--":
			rest = rest[1:]
			if len(rest) > 0 {
				program = rest[0]
			}
		case ok && strings.HasPrefix(w, "-"):
			if loads == "" {
				loads = w
			}
			rest = rest[1:]
		default:
			program = rest[0]
		}
	}
	return rest, program, loads
}

// awkQuoted returns the index where a string or a regular expression ends, or -1 if it does not end or awks may
// disagree where.
func awkQuoted(s string, i int, end byte) int {
	for ; i < len(s) && s[i] != end; i++ {
		switch {
		case s[i] == '\\':
			i++
		case end == '/' && (s[i] == '\n' || s[i] == '[' && strings.IndexByte(s[i:], '/') < strings.IndexByte(s[i:], ']')):
			return -1
		}
	}
	if i >= len(s) {
		return -1
	}
	return i
}

// awkOnlyPrints reports whether an awk program certainly uses no files and runs no programs.
func awkOnlyPrints(s string) bool {
	depth, printing := 0, false
	previous, word := byte(0), ""
	var conditions []bool // for each open parenthesis, whether it follows if, while or for
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			if i = awkQuoted(s, i+1, '"'); i < 0 {
				return false
			}
		case c == '/' && previous != 0 && strings.IndexByte("+-$", previous) >= 0:
			return false // a division or a regular expression
		case c == '/' && (previous == 0 || strings.IndexByte("(,~!&|{};\n=<>*%^?:[", previous) >= 0):
			if i = awkQuoted(s, i+1, '/'); i < 0 {
				return false
			}
		case c == '#':
			for i+1 < len(s) && s[i+1] != '\n' {
				i++
			}
			continue
		case c == '\n' && previous != 0 && strings.IndexByte(",&|", previous) >= 0:
			continue // the statement continues
		case c == '(':
			depth++
			conditions = append(conditions, previous == 'a' && (word == "if" || word == "while" || word == "for"))
		case c == ')':
			depth--
			if n := len(conditions); n > 0 {
				condition := conditions[n-1]
				if conditions = conditions[:n-1]; condition {
					previous = ';' // a statement follows
					continue
				}
			}
		case c == ';' || c == '\n' || c == '{' || c == '}':
			printing, depth = false, 0
		case c == '>' && printing && depth <= 0:
			return false
		case c == '|' && (i+1 >= len(s) || s[i+1] != '|'):
			return false
		case c == '|':
			i++
		case c == '@' || c == '\\':
			return false
		case c == '_' || unicode.IsLetter(rune(c)):
			start := i
			for i < len(s) && (s[i] == '_' || unicode.IsLetter(rune(s[i])) || unicode.IsDigit(rune(s[i]))) {
				i++
			}
			word = s[start:i]
			i--
			previous = 'a'
			switch word {
			case "print", "printf":
				printing = true
				depth = 0
				previous = ';'
			case "return", "else", "do", "in", "exit", "delete", "case":
				previous = ';'
			case "system", "getline", "close", "fflush", "ENVIRON", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "PROCINFO", "extension":
				return false
			}
			continue
		}
		if i < len(s) && s[i] != ' ' && s[i] != '\t' {
			previous = s[i]
		}
	}
	return true
}
