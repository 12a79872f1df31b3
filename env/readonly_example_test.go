package env_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// Tools can read in this environment, and change nothing.
func ExampleReadOnly() {
	dir, err := os.MkdirTemp("", "env")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	quiet := env.ReadOnly(e)
	_, err = env.Exec(context.Background(), quiet, env.Command{Line: "rm -rf .", Timeout: time.Second})
	fmt.Println(errors.Is(err, env.ErrReadOnly), err)
	// Output: true run a command: environment is read-only
}
