// Command mutants breaks the code in one place after the other and reports whether the tests notice.
//
//	go run ./internal/mutants                  all of mutants.txt
//	go run ./internal/mutants -pkg ./agent     the mutants of one package
//	go run ./internal/mutants -name fsync      those with fsync in their name
//
// It fails if a mutant survives, does not build, or no longer applies.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
)

//go:embed mutants.txt
var list string

func main() {
	pkg := flag.String("pkg", "", "only mutants of this package, such as ./agent or ./env/...")
	name := flag.String("name", "", "only mutants whose name contains this")
	workers := flag.Int("j", 2, "mutants tried at a time")
	timeout := flag.Duration("timeout", 5*time.Minute, "time limit for one package's tests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bad, err := run(ctx, *pkg, *name, *workers, *timeout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// run tries the selected mutants and returns how many have a bad verdict.
func run(ctx context.Context, pkg, name string, workers int, timeout time.Duration) (bad int, err error) {
	all, err := parse(list)
	if err != nil {
		return 0, err
	}
	var chosen []*mutant
	for _, m := range all {
		if m.in(pkg) && strings.Contains(m.name, name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return 0, fmt.Errorf("no mutant in package %q has %q in its name", pkg, name)
	}
	r, err := newRunner(ctx, timeout)
	if err != nil {
		return 0, err
	}
	defer r.close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(workers, 1))
	for _, m := range chosen {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			v := r.try(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			if !v.good {
				bad++
			}
			fmt.Printf("%s: %s\n", m.name, v.text)
		})
	}
	wg.Wait()
	fmt.Printf("%d mutants, %d to look at\n", len(chosen), bad)
	return bad, ctx.Err()
}
