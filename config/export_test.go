package config

import "strings"

// OpenToProjects returns the keys that projects can set, with the condition.
func OpenToProjects() map[string]string {
	open := map[string]string{}
	for _, f := range fields {
		if who := f.tag.Get("project"); who != "" {
			open[f.key] = who
		}
	}
	return open
}

// KeyTags returns all keys with the tags that documentation needs.
func KeyTags() (list [][3]string) {
	for _, f := range fields {
		doc := f.tag.Get("jsonschema")
		list = append(list, [3]string{f.key, doc, f.tag.Get("project")})
	}
	return list
}

// Modes returns the values that permissions.mode accepts.
func Modes() []string {
	f, _ := findField("permissions.mode")
	return strings.Fields(f.tag.Get("enum"))
}
