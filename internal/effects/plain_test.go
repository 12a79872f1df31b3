//go:build linux && (amd64 || arm64)

package effects

import (
	"bytes"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// plain runs lines with bash alone, for their unrestricted effects.
type plain struct{ *observer }

func (p plain) run(lines []line) (results []result, err error) {
	fresh := false
	for _, l := range lines {
		if !fresh {
			if err := p.begin(); err != nil {
				return nil, err
			}
		}
		r := result{line: l, output: p.bash(l.command)}
		if r.effects, err = p.changes(); err != nil {
			return nil, fmt.Errorf("%s: %w", l.id, err)
		}
		fresh = len(r.effects) == 0
		if !fresh {
			p.end()
		}
		r.effects = append(r.effects, p.shown(r.output)...)
		results = append(results, r)
	}
	if fresh {
		p.end()
	}
	return results, nil
}

// bash runs a line and returns its output. It ends everything that the line left behind in its process group.
func (p plain) bash(command string) string {
	cmd := exec.Command("/bin/bash", "-c", command)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.work, p.vars(), p.credential()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	watchdog := time.AfterFunc(lineTimeout, kill)
	defer watchdog.Stop()
	_ = cmd.Wait()
	kill()
	return out.String()
}
