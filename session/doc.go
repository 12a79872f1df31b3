// Package session is what programs build on that let users work with sessions: a command line, a terminal interface, a
// web page.
//
// [Manager] works with saved sessions: it lists, finds, copies, exports and removes them, and undoes what their agents
// changed. It needs no model, and the sessions may be running in other processes.
//
// Arguments and results are plain data that encodes to JSON.
package session
