//go:build linux && (amd64 || arm64)

package effects

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Variables that choose the tests.
const (
	// wantVar is "all" for every configuration and every line, or a pattern for the subtests to run in full.
	wantVar = "REINS_EFFECTS"
	// stageVar is the process's stage: see TestMain.
	stageVar = "REINS_EFFECTS_STAGE"
	// binVar is the directory with the programs that the outer process built.
	binVar = "REINS_EFFECTS_BIN"
)

// The tests' programs and files, in the namespaces.
const (
	binDir   = "/srv/bin"
	reinsBin = binDir + "/reins"
	selfBin  = binDir + "/effects.test"
)

// TestMain runs this program several times. The first process builds the programs and starts the second in new
// namespaces. The second is process 1 there: it mounts, and collects orphans. The third runs the tests. A fourth runs
// command lines for the box tests.
func TestMain(m *testing.M) {
	var code int
	var err error
	switch os.Getenv(stageVar) {
	case "":
		code, err = outer()
	case "init":
		code, err = initProcess()
	case "tests":
		code = m.Run()
	case "box":
		err = serveBox(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "effects:", err)
		code = 1
	}
	os.Exit(code)
}

// outer builds the program and runs the tests in new namespaces. Without root it needs a user namespace.
func outer() (int, error) {
	dir, err := os.MkdirTemp("", "effects-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return 1, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return 1, fmt.Errorf("go env GOROOT: %w", err)
	}
	cmd := again("init", binVar+"="+dir, "GOROOT="+strings.TrimSpace(string(goroot)))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return exitCode(cmd.Run(), cmd)
}

// again returns a command that runs this program at another stage, with the same flags. What go test collects from a
// test process stays with the outer one.
func again(stage string, vars ...string) *exec.Cmd {
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile=") && !strings.Contains(a, "profile=") && !strings.HasPrefix(a, "-test.gocoverdir=") {
			args = append(args, a)
		}
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(append(os.Environ(), stageVar+"="+stage), vars...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// exitCode returns a process's exit code. An error means that it did not run.
func exitCode(err error, cmd *exec.Cmd) (int, error) {
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return 1, fmt.Errorf("the tests need namespaces, as root or with user namespaces: %w", err)
	}
	return cmd.ProcessState.ExitCode(), nil
}

// build builds the program, and a library that leaves a mark when it is loaded, if there is a compiler.
func build(dir string) error {
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "reins"), "github.com/reins-agent/reins/cmd/reins").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return nil
	}
	const source = `#include <unistd.h>
#include <fcntl.h>
__attribute__((constructor)) static void f(void) { write(2, "EVIL" "-RAN\n", 9); close(open("evil-ran", O_CREAT | O_WRONLY, 0600)); }`
	c := exec.Command(cc, "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", filepath.Join(dir, "evil.so"))
	c.Stdin = strings.NewReader(source)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("cc: %w\n%s", err, out)
	}
	return nil
}
