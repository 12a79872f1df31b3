package tool

import (
	"strings"
	"testing"
)

func TestNew_SlicesAndPointersAreNeverNullInTheSchema(t *testing.T) {
	type inner struct {
		List  []string         `json:"list"`
		Map   map[string][]int `json:"map"`
		Point *struct {
			List []int `json:"list"`
		} `json:"point"`
	}
	type in struct {
		List   []string         `json:"list"`
		Lists  [][]inner        `json:"lists"`
		Values map[string]inner `json:"values"`
	}
	if schema := string(schemaFor[in]("t")); strings.Contains(schema, "null") {
		t.Errorf("the schema allows null: %s", schema)
	}
}
