//go:build unix

package gitrisk_test

import (
	"fmt"
	"testing"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/gitrisk"
)

// BenchmarkRuns measures a repository check by the number of files in the index.
func BenchmarkRuns(b *testing.B) {
	for _, n := range []int{0, 20_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			p := newProject(b)
			if n > 0 {
				p.many(n)
			}
			e, err := local.New(local.Config{Dir: p.dir})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for b.Loop() {
				if why := gitrisk.Runs(b.Context(), e, p.dir); why != "" {
					b.Fatal(why)
				}
			}
		})
	}
}
