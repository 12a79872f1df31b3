package main

import (
	"bufio"
	"os/exec"
	"testing"
)

func TestProcesses_ChildrenCountAndEndWithTheirParent(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 600 & echo ready; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	if all := tree(cmd.Process.Pid); len(all) != 2 {
		t.Errorf("the tree is %v, want two processes", all)
	}
	if peakMemory(cmd.Process.Pid) == 0 {
		t.Error("the processes hold no memory")
	}
	if err := kill(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	// The pipe is at its end when both of its writers are gone.
	for lines.Scan() {
	}
	_ = cmd.Wait()
}
