// Package connect puts clients together: from the environment, for a provider by name, or for a
// model server that runs on this machine.
package connect
