// Command words measures the English in Go comments and Markdown files. Text that sounds translated has many phrases such
// as "the settings of the user" where Go programmers write "user settings", so it counts "of the", "of a" and similar
// words, and as a second figure other phrases to avoid.
//
//	go run ./internal/words [-top N] [-check] [-list] [FILE or DIR]
//
// With -list it prints each line that has one of the phrases.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	top := flag.Int("top", 20, "print the N worst files")
	check := flag.Bool("check", false, "exit with status 1 if the text exceeds the limits")
	list := flag.Bool("list", false, "print the phrases instead of the files")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	files, err := measure(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *list {
		for _, f := range files {
			f.list(os.Stdout)
		}
		return
	}
	report(os.Stdout, files, *top)
	if !*check {
		return
	}
	problems := exceeded(files)
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// report prints the n worst files and the totals.
func report(w io.Writer, files []file, n int) {
	fmt.Fprintf(w, "%8s %8s %8s %8s\n", "of a/the", "words", "per 1000", "others")
	for _, f := range worst(files)[:min(n, len(files))] {
		f.print(w, f.path)
	}
	comments, docs := totals(files)
	comments.print(w, "all comments")
	docs.print(w, "all documentation")
}

func (c count) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%8d %8d %8.1f %8d  %s\n", c.genitives, c.words, c.rate(), c.others, name)
}
