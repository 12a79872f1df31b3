//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/audit"
	"github.com/reins-agent/reins/home"
)

func TestAuditTail_FollowsTheLogIntoANewFile(t *testing.T) {
	cmd := command(t, "audit", "tail", "-f", "-n", "1", "--tool", "shell")
	state := filepath.Join(cmd.Dir, "state")
	cmd.Env = append(cmd.Env, "REINS_HOME="+state)
	log, err := audit.Open(home.Dir(state).Audit(), audit.Config{MaxSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	add := func(call, name string) {
		t.Helper()
		if _, err := log.Append(audit.Entry{Time: time.Now(), Trace: "S", Call: call, Name: name, CommandsRun: []string{"command of " + call}}); err != nil {
			t.Fatal(err)
		}
	}
	add("1", "shell")
	add("2", "shell")
	add("3", "read_file")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patient, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	out := bufio.NewReader(pipe)
	want := []string{"2"}
	for i := range 12 {
		want = append(want, fmt.Sprint("more", i))
	}
	for i, call := range want {
		line, err := out.ReadString('\n')
		if err != nil || !strings.HasSuffix(line, "command of "+call+"\n") {
			t.Fatalf("line %d is %q, want call %s: %v", i, line, call, err)
		}
		if i+1 < len(want) {
			add(want[i+1], "shell")
		}
	}
	if files, err := audit.Files(home.Dir(state).Audit()); err != nil || len(files) < 3 {
		t.Errorf("the log has the files %q, want several", files)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCodeOf(t, cmd); code != 0 {
		t.Errorf("after an interrupt, the exit code is %d, want 0", code)
	}
}
