package tools_test

import (
	"testing"

	"github.com/reins-agent/reins/internal/tools"
)

// BenchmarkCall measures whole calls, from the arguments to the text for the model.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name string
		args args
	}{
		{"read_file", args{"file_path": "a/b/c/file.txt"}},
		{"write_file", args{"file_path": "a/b/c/new.txt", "content": "text\n"}},
		{"edit_file", args{"file_path": "a/b/c/file.txt", "old_string": "three", "new_string": "three"}},
		{"list_dir", args{"path": "a/b"}},
		{"grep", args{"pattern": "two", "path": "a"}},
		{"glob", args{"pattern": "a/**/*.txt"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, tools.Config{})
			r.write("a/b/c/file.txt", "one\ntwo\nthree\n")
			call := r.request(c.name, c.args)
			for b.Loop() {
				r.pipe.Run(b.Context(), call)
			}
		})
	}
}
