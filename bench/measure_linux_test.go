package main

import (
	"bufio"
	"os/exec"
	"testing"

	"github.com/reins-agent/reins/bench/internal/process"
)

func TestTree_IncludesChildrenAndKillEndsThem(t *testing.T) {
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
	if all := process.Tree(cmd.Process.Pid); len(all) != 2 {
		t.Errorf("got tree %v, want two processes", all)
	}
	if peakMemory(cmd.Process.Pid) == 0 {
		t.Error("got no peak memory")
	}
	if err := kill(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	// The pipe ends when both processes have exited.
	for lines.Scan() {
	}
	_ = cmd.Wait()
}
