package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
)

// notef prints a message to standard error, on one line and without secrets.
func notef(h Host, format string, args ...any) {
	fmt.Fprintln(h.Stderr, "reins: "+show.OneLine(hostSecrets().Text(fmt.Sprintf(format, args...))))
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON, one object per line")
}

// marshal returns a value as JSON that is safe to print.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return show.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// printJSON prints a value on one line.
func printJSON(w io.Writer, value any) error {
	line, err := marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// printTable prints a table that fits the terminal, if there is one.
func printTable(h Host, t *show.Table) error {
	return t.Print(h.Stdout, screenWidth(h.Stdout), h.colours(h.Stdout))
}

// printList prints a table, or a note if it has no rows.
func printList(h Host, t *show.Table, none string) error {
	if t.Len() == 0 {
		notef(h, "%s", none)
		return nil
	}
	return printTable(h, t)
}

// orEmpty returns a list that is [] in JSON, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, ok = terminalWidth(f)
	return ok
}

// screen returns a writer for text that may not be safe to print. On a terminal, the text is made safe as with
// show.Visible; files and pipes get it unchanged.
func screen(out io.Writer) io.Writer {
	if isTerminal(out) {
		return &safeWriter{out: out}
	}
	return out
}

type safeWriter struct {
	out    io.Writer
	stream show.Stream
}

func (s *safeWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, s.stream.Visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// screenWidth returns the width of a terminal, or 0 if the stream is not one.
func screenWidth(stream io.Writer) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	n, ok := terminalWidth(f)
	if ok && n == 0 {
		return 80
	}
	return n
}

// colours reports whether output to a stream can be coloured and redrawn.
func (h Host) colours(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isTerminal(f) && h.Getenv("NO_COLOR") == "" && h.Getenv("TERM") != "dumb" && enableEscapes(f)
}

// paint colours a text if on is set.
func paint(on bool, colour, text string) string {
	if !on {
		return text
	}
	return show.Paint(colour, text)
}

// title returns the title of a session, or else its prompt.
func title(h Host, m event.Meta) string {
	if title := show.OneLine(m.Title); title != "" {
		return title
	}
	return brief(h, m.Prompt)
}

// brief returns a text on one line, shortened if standard output is a terminal.
func brief(h Host, text string) string {
	if isTerminal(h.Stdout) {
		return show.Summary(text)
	}
	return show.OneLine(text)
}

// shortTime formats a time as an age if standard output is a terminal.
func shortTime(h Host, t time.Time) string {
	if isTerminal(h.Stdout) {
		return show.Ago(time.Since(t), t)
	}
	return t.Local().Format(time.RFC3339)
}

// fullTime formats a time for people if standard output is a terminal.
func fullTime(h Host, t time.Time) string {
	if isTerminal(h.Stdout) {
		return t.Local().Format(time.DateTime)
	}
	return t.Local().Format(time.RFC3339)
}

// parseSince returns the time that lies an age before now, or the zero time for "".
func parseSince(age string) (time.Time, error) {
	if age == "" {
		return time.Time{}, nil
	}
	d, err := parseAge(age)
	return time.Now().Add(-d), err
}

const day = 24 * time.Hour

// parseAge parses an age such as 30d, 2w or 12h.
func parseAge(s string) (time.Duration, error) {
	for _, unit := range []struct {
		name string
		time time.Duration
	}{{"d", day}, {"w", 7 * day}} {
		number, found := strings.CutSuffix(s, unit.name)
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(unit.time) {
			return time.Duration(n) * unit.time, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usagef("invalid age %q: use days (30d), weeks (2w) or a duration (12h30m)", s)
	}
	return d, nil
}
