//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// need skips a test without these programs.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
}

func TestBuild_Go(t *testing.T) {
	need(t, "go")
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	cache := strings.TrimSpace(string(out))
	if entries, _ := os.ReadDir(cache); err != nil || len(entries) < 2 {
		t.Skip("the build cache is empty: compiling the standard library takes minutes")
	}
	s := newStage(t, func(_ *stage, c *Config) { c.Writable = []string{cache} })
	s.write("ws/go.mod", "module example.com/m\n\ngo 1.21\n")
	s.write("ws/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"built\") }\n")
	s.write("ws/main_test.go", `package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(r.Body); string(body) != "hello" {
		t.Errorf("%q", body)
	}
	if out, err := exec.Command("sh", "-c", "echo child").Output(); err != nil || string(out) != "child\n" {
		t.Error(out, err)
	}
	t.Log(t.TempDir())
}
`)
	// A placeholder or a broken repository makes go fail if it looks for a revision; env/local sets the same.
	if out := s.must("export GOCACHE=" + cache + " GOFLAGS=-buildvcs=false GOTOOLCHAIN=local GOPROXY=off && go vet ./... && go build -o m . && ./m && go test ./..."); !strings.Contains(out, "built") || !strings.Contains(out, "ok") {
		t.Errorf("got %q", out)
	}
}

func TestBuild_Node(t *testing.T) {
	need(t, "node", "npm")
	s := newStage(t, nil)
	s.write("ws/package.json", `{"name": "m", "version": "1.0.0", "scripts": {"build": "node build.js", "test": "node --test"}}`)
	s.write("ws/build.js", "require('fs').writeFileSync('out.js', 'module.exports = 1'); console.log('built')")
	s.write("ws/m.test.js", `
const test = require('node:test'), assert = require('node:assert'), http = require('node:http')
const { Worker } = require('node:worker_threads'), { fork, execSync } = require('node:child_process')
test('worker', () => new Promise((resolve, reject) => {
	new Worker("require('worker_threads').parentPort.postMessage(require('./out.js'))", { eval: true }).on('message', resolve).on('error', reject)
}))
test('child', () => new Promise(resolve => fork('./child.js').on('message', m => { assert.equal(m, 'hello'); resolve() })))
test('shell', () => assert.equal(execSync('echo x').toString(), 'x\n'))
test('server', async () => {
	const s = http.createServer((_, r) => r.end('hello')).listen(0, '127.0.0.1')
	await new Promise(r => s.on('listening', r))
	const r = await fetch('http://127.0.0.1:' + s.address().port)
	assert.equal(await r.text(), 'hello')
	s.closeAllConnections(); s.close()
})
`)
	s.write("ws/child.js", "process.send('hello', () => process.disconnect())")
	if out := s.must("export npm_config_cache=$TMPDIR/npm && npm run build && npm test"); !strings.Contains(out, "built") || !strings.Contains(out, "pass 4") {
		t.Errorf("got %q", out)
	}
}

func TestBuild_C(t *testing.T) {
	need(t, "make", "gcc")
	s := newStage(t, nil)
	s.write("ws/Makefile", "CFLAGS = -O1\nall: m\nm: m.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc $(CFLAGS) -c -o $@ $<\ntest: m\n\t./m\n")
	s.write("ws/m.c", "#include <stdio.h>\n#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { if (fork() == 0) _exit(0); wait(0); puts(\"tested\"); return 0; }\n")
	if out := s.must("make -j2 && make test"); !strings.Contains(out, "tested") {
		t.Errorf("got %q", out)
	}
	if runtime.GOARCH == "amd64" { // getpid of 32-bit programs, which other numbers of system calls could come with
		s.write("ws/old.c", "int main(void) { long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r > 0 ? 0 : 1; }\n")
		s.must("gcc -o old old.c")
		s.refuses("./old")
	}
}

func TestGit_WorksInTheWorkspaceAndInAWorktree(t *testing.T) {
	need(t, "git")
	const work = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1 &&
		echo x >> new && git add new && git commit -qm one && git branch other && git checkout -q other && echo y >> new &&
		git commit -qam two && git log --oneline && echo z >> new && git stash -q && git stash pop -q && git checkout -q -- . &&
		git tag v1 && git merge -q HEAD~0 && git reset -q --hard HEAD~1 && git status --short`
	s := newStage(t, func(s *stage, _ *Config) {
		if out, code := s.sh(false, "rm -rf .git sub && git init -q . 2>&1"); code != 0 {
			t.Fatal(out)
		}
	})
	s.must(work)
	s.refuses("git config core.fsmonitor ./evil")
	if out, code := s.sh(false, "git config --unset core.fsmonitor && git worktree add -q $OUT/tree -b tree"); code != 0 {
		t.Fatal(out)
	}
	s.box.Close()
	box, err := New(Config{Mode: WorkspaceWrite, Dir: s.out + "/tree", Temp: s.tmp})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	s.box, s.ws = box, s.out+"/tree"
	s.must(strings.ReplaceAll(strings.ReplaceAll(work, "other", "third"), "v1", "v2"))
	s.refuses("git config core.fsmonitor ./evil")
}
