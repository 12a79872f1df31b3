package secret_test

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/secret"
)

// Values of variables with secret names are replaced, also inside other text.
func ExampleNew() {
	r, err := secret.New(context.Background(), secret.Config{Vars: []string{"DB_PASSWORD=correct-horse-battery", "EDITOR=vi"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text("connecting as app:correct-horse-battery@db, editor vi"))
	// Output: connecting as app:[redacted:DB_PASSWORD]@db, editor vi
}
