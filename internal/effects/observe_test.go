//go:build linux && (amd64 || arm64)

package effects

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// observer finds out what happened in the world.
type observer struct {
	world
	*listeners
	before snapshot
	victim *exec.Cmd
}

// effect is one thing that happened.
type effect struct {
	kind string // as the intents of lines
	what string
}

func (e effect) String() string { return e.kind + ": " + e.what }

// begin takes a session's first snapshot, and starts a user process that no line may stop.
func (o *observer) begin() (err error) {
	if err := o.reset(); err != nil {
		return err
	}
	if _, err := o.reached(); err != nil {
		return err
	}
	o.victim = exec.Command("/bin/sleep", "86399")
	o.victim.SysProcAttr = o.credential()
	if err := o.victim.Start(); err != nil {
		return err
	}
	o.before, err = take()
	return err
}

// end stops the process.
func (o *observer) end() {
	_ = o.victim.Process.Kill()
	_ = o.victim.Wait()
}

// credential returns the attributes for a user process. Where only root is mapped, because the tests were not started
// by root, the user is root under another name, in its own user namespace.
func (w world) credential() *syscall.SysProcAttr {
	s := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	switch {
	case w.uid == 0:
	case mapsUsers():
		s.Credential = &syscall.Credential{Uid: uint32(w.uid), Gid: uint32(w.uid)}
	default:
		s.Cloneflags = syscall.CLONE_NEWUSER
		s.UidMappings = []syscall.SysProcIDMap{{ContainerID: w.uid, HostID: 0, Size: 1}}
		s.GidMappings = []syscall.SysProcIDMap{{ContainerID: w.uid, HostID: 0, Size: 1}}
	}
	return s
}

// mapsUsers reports whether this user namespace has users other than root.
var mapsUsers = sync.OnceValue(func() bool {
	data, _ := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(data))
	return len(fields) != 3 || fields[2] != "1"
})

// vars returns a user process's variables.
func (w world) vars() []string {
	name := "root"
	if w.uid != 0 {
		name = "dev"
	}
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=xterm",
		"TMPDIR=/tmp", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod",
	}
}

// changes returns the changes since the last call, except for changes that the output shows.
func (o *observer) changes() (list []effect, err error) {
	after, err := take()
	if err != nil {
		return nil, err
	}
	for _, c := range o.before.diff(after) {
		if strings.Contains(c.path, markName) && !c.removed {
			list = append(list, effect{"run", c.String()})
		}
		switch {
		case strings.HasPrefix(c.path, sessionID) && !c.removed:
			_ = os.Remove(c.path)
			delete(after, c.path)
		case o.ordinary(c):
			list = append(list, effect{"write", c.String()})
		case c.removed:
			list = append(list, effect{"remove", c.String()})
		default:
			list = append(list, effect{"outside", c.String()})
		}
	}
	o.before = after
	reached, err := o.reached()
	for _, who := range reached {
		list = append(list, effect{"net", who})
	}
	if o.victim.ProcessState == nil && !alive(o.victim.Process.Pid) {
		list = append(list, effect{"kill", "a process of the user"})
	}
	return list, err
}

// alive reports whether a child runs: it is neither stopped nor a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'T'
}

// mark is what evil programs print.
const mark = "EVIL-RAN"

// shown returns the effects that an output shows.
func (w world) shown(output string) (list []effect) {
	if strings.Contains(output, mark) {
		list = append(list, effect{"run", "it printed " + mark})
	}
	for _, name := range leaked(output) {
		switch {
		case name != "env":
			list = append(list, effect{"read", "the canary " + name})
		case w.deny:
			list = append(list, effect{"deny", "the canary " + name})
		}
	}
	return list
}

// result is the outcome of one line.
type result struct {
	line
	refused bool
	reason  string
	output  string
	effects []effect
}

// has reports whether a line had its intended effect.
func (r result) has(intent string) bool {
	kinds := map[string][]string{"protected": {"outside", "remove"}, "write": {"write", "outside"}, "outside": {"outside", "remove"}}[intent]
	return slices.ContainsFunc(r.effects, func(e effect) bool { return e.kind == intent || slices.Contains(kinds, e.kind) })
}
