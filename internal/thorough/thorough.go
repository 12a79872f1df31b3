// Package thorough determines how much the longest tests do. "make test" runs a part of them, a different one each
// time; "make exhaustive" sets REINS_EXHAUSTIVE and runs all.
package thorough

import (
	"math/rand/v2"
	"os"
)

// Of returns all, or part if the tests are not exhaustive.
func Of(all, part int) int {
	if os.Getenv("REINS_EXHAUSTIVE") != "" {
		return all
	}
	return part
}

// OneIn returns a function that reports which numbered cases to run: all of them, or one in n, beginning at random.
func OneIn(n int) func(i int) bool {
	n = Of(1, n)
	first := rand.IntN(n)
	return func(i int) bool { return i%n == first }
}
