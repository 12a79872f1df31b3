package web

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/tool"
)

// Limits for the conversion to Markdown. Without them, a small page could become a very large text.
const (
	maxNesting = 8       // levels of nested lists and quotes
	maxCells   = 20_000  // table cells: rows times the longest row
	maxNodes   = 200_000 // elements and text nodes on a page
)

// markdown converts HTML to Markdown. It returns when ctx is done, even if the conversion is still running. A running
// conversion keeps its slot in turn, which limits how many there are.
func markdown(ctx context.Context, turn chan struct{}, text string, base *url.URL) (string, error) {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if v := recover(); v != nil {
				r.err = fmt.Errorf("the HTML cannot be converted: %v", v)
			}
			<-turn
			done <- r
		}()
		r.text, r.err = convert(ctx, text, base)
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func convert(ctx context.Context, text string, at *url.URL) (string, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", fmt.Errorf("the HTML cannot be parsed: %w", err)
	}
	nodes := 0
	for range doc.Descendants() {
		nodes++
	}
	if nodes > maxNodes {
		return "", tool.Errorf(
			tool.TooLarge,
			"The page has more than %d elements. Fetch a smaller page, or download it with a command.", maxNodes,
		)
	}
	title := clean(doc, 0)
	// Escaping takes quadratic time, and models do not need it.
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	b, err := c.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(at.String()))
	if title != "" {
		title = "Title: " + title + "\n\n"
	}
	return title + strings.TrimSpace(string(b)), err
}

// clean removes invisible elements, and elements that would make the Markdown very large. It returns the page title.
func clean(n *html.Node, nesting int) (title string) {
	switch n.DataAtom {
	case atom.Title:
		if n.FirstChild != nil && n.Namespace == "" {
			title = strings.Join(strings.Fields(n.FirstChild.Data), " ")
		}
	case atom.Ul, atom.Ol, atom.Blockquote:
		if nesting++; nesting > maxNesting {
			rename(n, atom.Div)
		}
	case atom.Table:
		if cells(n) > maxCells {
			flatten(n)
		}
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "colspan" || a.Key == "rowspan" || a.Key == "src" && strings.HasPrefix(a.Val, "data:")
	})
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if invisible(child) {
			n.RemoveChild(child)
		} else if t := clean(child, nesting); title == "" {
			title = t
		}
		child = next
	}
	return title
}

var hides = lazy.Regexp(
	`(?i)(^|[;\s])(display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(\.0*)?\s*(;|!|$)|font-size\s*:\s*0[a-z%]*\s*(;|!|$))`,
)

// invisible reports whether browsers hide an element. It ignores style sheets.
func invisible(n *html.Node) bool {
	if n.Type == html.CommentNode || n.DataAtom == atom.Template || n.DataAtom == atom.Script || n.DataAtom == atom.Style {
		return true
	}
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "hidden" || a.Key == "style" && hides().MatchString(a.Val)
	})
}

func rename(n *html.Node, to atom.Atom) { n.DataAtom, n.Data = to, to.String() }

// cells returns a table's number of rows times the length of the longest row.
func cells(t *html.Node) int {
	rows, longest := 0, 0
	for n := range t.Descendants() {
		if n.DataAtom == atom.Tr {
			rows++
			count := 0
			for c := range n.ChildNodes() {
				if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
					count++
				}
			}
			longest = max(longest, count)
		}
	}
	return rows * longest
}

// flatten turns a table's parts into plain blocks.
func flatten(t *html.Node) {
	rename(t, atom.Div)
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Colgroup, atom.Caption:
			rename(n, atom.Div)
		case atom.Td, atom.Th:
			rename(n, atom.Span)
		}
	}
}
