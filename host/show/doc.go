// Package show turns what a session does into text for people: the title of a tool call, an event on
// one line, a diff, a table of what was spent, how long ago something was. Every host can use it, so
// that they all say the same.
//
// Text that comes from a model, a tool or a repository is made safe to print: see [Visible]. All
// functions that return one line have done that already, unless they say otherwise.
package show
