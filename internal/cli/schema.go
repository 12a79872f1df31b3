package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/reins-agent/reins/llm"
	objects "github.com/reins-agent/reins/llm/object"
)

// readSchema reads the JSON Schema for the result of a run. Providers need an object.
func readSchema(name string) (*llm.OutputFormat, error) {
	data, err := readSmall(name, maxSchema)
	if err != nil {
		return nil, err
	}
	var root struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("%s is not a JSON Schema: %w", name, err)
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("the schema in %s must have \"type\": \"object\"; put other values into a property", name)
	}
	form, err := objects.ParseForm(llm.OutputFormat{Schema: data})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	format := form.Output()
	return &format, nil
}

// newObjectView returns the view of a run whose result is a JSON object: only the object goes to standard output.
func newObjectView(h Host) *textView {
	out := h.Stdout
	h.Stdout = h.Stderr
	v := newTextView(h)
	v.object = out
	return v
}

// printObject prints the object of a result as it was checked.
func printObject(w io.Writer, r result) error {
	if w == nil || len(r.Object) == 0 {
		return nil
	}
	return printJSON(w, r.Object)
}

// maxSchema is the maximum size of a schema in bytes.
const maxSchema = 1 << 20
