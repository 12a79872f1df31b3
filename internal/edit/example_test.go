package edit_test

import (
	"fmt"

	"github.com/reins-agent/reins/internal/edit"
)

func ExampleReplace() {
	file := []byte("func f() {\r\n\treturn 1\r\n}\r\n")
	// The model's text has spaces and LF where the file has a tab and CRLF.
	result, err := edit.Replace(file, "    return 1\n", "    x := 2\n    return x\n", false)
	fmt.Printf("%q %v\n%s\n", result.Content, err, result.Note())
	// Output:
	// "func f() {\r\n\tx := 2\r\n\treturn x\r\n}\r\n" <nil>
	// old_string did not match exactly; the replaced text differs from it only in white space.
	// line 2: file has "\\treturn 1", old_string has "    return 1"
	// The new lines were indented like the lines they replace.
}
