package view

import (
	"cmp"
	"encoding/json"
)

// steps reads a plan from the arguments of the tools that record one.
func steps(args string) []Step {
	type entry struct {
		Step, Content, Description, Text, Status string
	}
	var in struct{ Plan, Todos []entry }
	if json.Unmarshal([]byte(args), &in) != nil {
		return nil
	}
	var list []Step
	for _, e := range append(in.Plan, in.Todos...) {
		list = append(list, Step{cmp.Or(e.Step, e.Content, e.Description, e.Text), e.Status})
	}
	return list
}
