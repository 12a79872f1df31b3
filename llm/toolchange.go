package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
)

// BaseTools returns the tools at the conversation's start: Tools without the changes in the ToolChange parts in
// Messages. It reports false, and returns Tools, if the changes do not lead to Tools: an added tool is missing or
// differs, or a removed tool is still there. The changes must then not be sent.
func BaseTools(r *Request) (base []ToolDef, ok bool) {
	base = r.Tools
	for _, m := range slices.Backward(r.Messages) {
		for _, p := range slices.Backward(m.Parts) {
			change, is := p.(ToolChange)
			if !is {
				continue
			}
			if base, ok = change.undo(base); !ok {
				return r.Tools, false
			}
		}
	}
	return base, true
}

// undo returns the tools before the change, and whether the change leads to these tools.
func (c ToolChange) undo(tools []ToolDef) ([]ToolDef, bool) {
	before := slices.Clone(tools)
	for _, added := range slices.Backward(c.Add) {
		i := slices.IndexFunc(before, func(t ToolDef) bool { return sameTool(t, added) })
		if i < 0 {
			return nil, false
		}
		before = slices.Delete(before, i, i+1)
	}
	removed := slices.SortedStableFunc(slices.Values(c.Remove), func(a, b RemovedTool) int { return cmp.Compare(a.At, b.At) })
	for _, r := range removed {
		present := func(t ToolDef) bool { return t.Name == r.Tool.Name && t.Name != "" || sameTool(t, r.Tool) }
		if r.At < 0 || r.At > len(before) || slices.ContainsFunc(before, present) {
			return nil, false
		}
		before = slices.Insert(before, r.At, r.Tool)
	}
	return before, true
}

// sameTool reports whether two tools have the same JSON form. A tool that was stored with a conversation may have other
// spelling in its parameters.
func sameTool(a, b ToolDef) bool {
	if a.Name != b.Name {
		return false
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// ChangeTools returns the change from one list of tools to another. It reports false if the lists differ in more than
// added and removed tools, such as their order.
func ChangeTools(before, after []ToolDef) (c ToolChange, ok bool) {
	in := func(list []ToolDef, t ToolDef) bool {
		return slices.ContainsFunc(list, func(u ToolDef) bool { return sameTool(t, u) })
	}
	for i, t := range before {
		if !in(after, t) {
			c.Remove = append(c.Remove, RemovedTool{At: i, Tool: t})
		}
	}
	for _, t := range after {
		if !in(before, t) {
			c.Add = append(c.Add, t)
		}
	}
	undone, ok := c.undo(after)
	return c, ok && slices.EqualFunc(undone, before, sameTool)
}

// AddedTools returns the tools that the ToolChange parts of messages added and did not remove again.
func AddedTools(messages []Message) (added []ToolDef) {
	for _, m := range messages {
		for _, p := range m.Parts {
			change, is := p.(ToolChange)
			if !is {
				continue
			}
			for _, r := range change.Remove {
				added = slices.DeleteFunc(added, func(t ToolDef) bool { return t.Name == r.Tool.Name })
			}
			added = append(added, change.Add...)
		}
	}
	return added
}
