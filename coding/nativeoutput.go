package coding

import (
	"io"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/tool"
)

// framed is an output with text before and after it. It is as large as what it frames, which may
// be too large to hold in memory.
type framed struct {
	before string
	output tool.Output
	after  string
}

func (f framed) Len() int64 {
	n := int64(len(f.before) + len(f.after))
	if f.output != nil {
		n += f.output.Len()
	}
	return n
}

func (f framed) Open() io.ReadCloser {
	if f.output == nil {
		return io.NopCloser(strings.NewReader(f.before + f.after))
	}
	inner := f.output.Open()
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(f.before), inner, strings.NewReader(f.after)), inner}
}

// Close frees the output, where it is kept outside of memory.
func (f framed) Close() error {
	if c, ok := f.output.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func isEmpty(o tool.Output) bool { return o == nil || o.Len() == 0 }

// numbered takes a page of read_file apart: the lines of the file with the number of the first,
// and what else the page says.
func numbered(page string) (lines []string, first int, notes []string) {
	for _, l := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		number, text, ok := strings.Cut(l, " | ")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if !ok || err != nil {
			notes = append(notes, l)
			continue
		}
		if first == 0 {
			first = n
		}
		lines = append(lines, text)
	}
	return lines, first, notes
}

// totalLines is how many lines the file has that a page is of.
func totalLines(res tool.Result) (n int, ok bool) {
	n, ok = res.Fields["total_lines"].(int)
	return n, ok
}
