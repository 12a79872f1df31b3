package shell

import (
	"strings"
	"testing"
)

func TestWidening_NamesTheOptionThatRunsOrWritesMore(t *testing.T) {
	for line, want := range map[string]string{
		"rg --pre ./x y": "--pre", "rg --pre=./x y": "--pre", "/usr/bin/rg --hostname-bin x y": "--hostname-bin", "rg -z x": "-z",
		"fd -x rm": "-x", "fd x --exec-batch rm": "--exec-batch", "sort -o x y": "-o", "sort -uo x": "-o",
		"sort --outp=x y": "--outp", "sort --compress-program=x": "--compress-program",
		"git diff --ext-diff": "--ext-diff", "git diff --output=x": "--output", "git log -p --textconv": "--textconv",
		"git show --output x": "--output", "git -c a.b=c diff": "-c",
		"git --exec-path=x diff": "--exec-path", "git grep -Oless x": "-O", "git push --receive-pack=x origin": "--receive-pack",
		"git fetch --upload-pack x": "--upload-pack", "git rebase -x make main": "-x",
		"git rebase --exec=make": "--exec", "git archive -o x HEAD": "-o", "git format-patch -ox HEAD": "-o",
		"git stash show --ext-diff": "--ext-diff", "git clone -u x y": "-u",
		"sed -i s/a/b/ x": "-i", "sed -n -i.bak p x": "-i", "sed --in-place p x": "-i", "sed -n -f x y": "-f", "sed -n wx y": "wx",
		"sed -n -e 1p -e 1ex y": "1ex", "gsed s/a/b/e x": "s/a/b/e",
		"awk -f x y": "-f", `awk {print>"x"} y`: `{print>"x"}`, `awk BEGIN{system("x")}`: `BEGIN{system("x")}`,
		"find . -exec x ;": "-exec", "find . -delete": "-delete", "find . -fprint x": "-fprint", "find . -okdir x ;": "-okdir",
		"find . -files0-from x": "-files0-from", "find . -execdir x ;": "-execdir", "find . -ok x ;": "-ok", "find . -fprint0 x": "-fprint0",
		"find . -fprintf x y": "-fprintf", "find . -fls x": "-fls",
		"go test -exec x ./...": "-exec", "go test --exec=x ./...": "--exec", "go build -toolexec x": "-toolexec",
		"go test -o x": "-o", "go test -coverprofile=x ./...": "-coverprofile", "go vet -vettool=x": "-vettool",
		"go test -test.cpuprofile=x": "-test.cpuprofile", "go run -exec x ./cmd": "-exec", "go env -w A=b": "-w",
		"go build -ldflags=-extld=x": "-ldflags", "gofmt -w x.go": "-w",
		"tar --to-command=x -xf y": "--to-command", "tar xf x --checkpoint-action=exec=y": "--checkpoint-action",
		"tar -xf x -I y": "-I", "tar xIf y x": "-I", "tar xf x -C /y": "-C",
		"rsync -e x a b": "-e", "curl -o x y": "-o", "curl -sSLo x y": "-o", "curl -K x": "-K", "wget -O x y": "-O",
		"make -f x": "-f", "make --eval=x": "--eval", "npm test --script-shell=x": "--script-shell",
		"cargo test --config x": "--config", "pytest -p x": "-p", "eslint --rulesdir x .": "--rulesdir", "uniq a b": "b",
		"xxd a b": "b", "tree -o x": "-o", "yq -i .a x": "-i", "gcc -wrapper x a.c": "-wrapper",
		"gcc -fplugin=x a.c": "-fplugin", "man -P x ls": "-P", "less -ox y": "-o", "bat --pager x y": "--pager",
		"gradle -I x build": "-I",
		"rg \x00":           Unset, "git diff \x00": Unset, "find . \x00": Unset, "go test \x00": Unset, "git \x00": Unset,
		"sed \x00 x": Unset,
	} {
		if got, ok := Widening(strings.Fields(line)); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", line, got, ok, want)
		}
	}
}

func TestWidening_PermitsOrdinaryOptions(t *testing.T) {
	for _, line := range []string{
		"", "rg -n x", "rg -n -- --pre", "rg -e --pre x", "rg --glob x y", "fd -e go", "sort -u x", "git diff --stat",
		"git diff -- --output", "git log --oneline -n 5", "git -C x diff", "git --no-pager log",
		"git push origin main", "git push -o ci.skip origin", "git commit -m -S", "git rebase main", "git stash list",
		"sed -n 1,5p x", "sed -e s/a/b/ x", "awk {print$1} x", "awk -F: {print$1} x", "find . -name x", "find . -type f -print0",
		"go test ./...", "go test -run X -v ./...", "go test ./... -args -exec x", "go run . -o x", "go run ./cmd -exec x",
		"go build ./...", "gofmt -l .", "tar tf x", "tar -czf x y", "curl -s x", "make test", "make -j8 -C sub",
		"npm test", "npm run build -- --prefix x", "cargo test -p x", "pytest -k x", "pytest -q tests", "eslint src", "uniq a",
		"gcc -c a.c -o a.o", "man ls", "ls -o", "cat x", "unknown --exec x", "ls \x00", "cat \x00", "rg -- \x00",
	} {
		if got, ok := Widening(strings.Fields(line)); ok {
			t.Errorf("%s: got %q, want none", line, got)
		}
	}
}
