// Package localtest runs Reins with a real Ollama. Its models' weights are scripted (package gguf), so the tests check
// the protocol, not the quality of answers. "make test-local-models" builds Ollama and runs them.
package localtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The programs under test, and the server that most tests share. TestMain sets them.
var (
	ollama, reins string
	shared        *server
)

func TestMain(m *testing.M) {
	if ollama = os.Getenv("REINS_OLLAMA"); ollama == "" {
		fmt.Println("run make test-local-models, which builds Ollama, or set REINS_OLLAMA to the path of the program")
		os.Exit(1)
	}
	code, err := run(m)
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "localtest")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	reins = filepath.Join(dir, "reins")
	build := exec.Command("go", "build", "-o", reins, "./cmd/reins")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	if shared, err = start(filepath.Join(dir, "ollama")); err != nil {
		return 0, err
	}
	defer shared.stop()
	for _, model := range models {
		if err := shared.create(model); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}

// server is a running Ollama.
type server struct {
	address string // host and port
	home    string
	process *exec.Cmd
}

func (s *server) url(path string) string { return "http://" + s.address + path }

// command returns a command of Ollama for the server. Without flash attention, reading a prompt takes half as long.
func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(ollama, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "OLLAMA_HOST=" + s.address, "OLLAMA_NO_CLOUD=1", "OLLAMA_FLASH_ATTENTION=0"}
	return cmd
}

var listening = regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+)`)

// start starts a server without models on a free loopback port. Its files are in a new directory.
func start(home string) (*server, error) {
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	s := &server{home: home, address: "127.0.0.1:0"}
	s.process = s.command("serve")
	output, err := s.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	if s.address, err = awaitAddress(output); err != nil {
		return nil, fmt.Errorf("ollama serve ended: %w", errors.Join(s.process.Wait(), err))
	}
	return s, nil
}

// awaitAddress reads a server's output until it prints its address, and discards the rest.
func awaitAddress(output io.Reader) (string, error) {
	log := ""
	for lines := bufio.NewScanner(output); lines.Scan(); log += lines.Text() + "\n" {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			go io.Copy(io.Discard, output)
			return found[1], nil
		}
	}
	return "", fmt.Errorf("it printed no address:\n%s", log)
}

// stop ends the server and the processes that run its models.
func (s *server) stop() {
	s.process.Process.Signal(os.Interrupt)
	s.process.Wait()
}
