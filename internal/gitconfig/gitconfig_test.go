package gitconfig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var configs = []string{
	"", "\n", "[core]\n\tpager = less\n", "[core]pager=x", "[CORE] Pager = X y  z  # c\n", "[core]\npager\n", "[core]\npager =\n",
	"[a \"B c\"]\nk = v\n", "[a.B]\nk = v\n", "[a \"x\\\"y\\\\z\"]k=1", "[a]\nk = \"x # y\" ; z\n", "[a]\nk = x \\\n  y\n",
	"[a]\nk = \"  x  \"  \n", "[a]\nk = x\\ty\\nz\\b\n", "[a]\nk = \"x\ny\"\n", "[a]\nk = \\x\n", "[a\nk = 1\n", "[a] k = 1 [b] l = 2\n",
	"\xef\xbb\xbf[a]\nk = 1\n", "\xef\xbb[a]\nk=1\n", "[a]\r\nk = 1\r\n", "[a]\r\nk = 1 \\\r\n 2\r\n", "[a]\rk = 1\n", "# c [a]\n; d\n[a] ; e\nk-2 = 1\n",
	"[a]\nk = x \"\" \n", "[a]\nk = \"\" x\n", "[a]\n2k = 1\n", "[a]\nk_2 = 1\n", "[a \"b\"\n]\nk = 1", "[a \"b\" ]\nk = 1", "[ \"b\"]\nk = 1",
	"[a]\nk = x\\", "[a]\nk = \"x", "[a]\nk = x;y", "[a]\nk ; c\n", "[a]\nk = \v x\n", "[a.b \"c.d\"]\nk = 1\n", "[a]\nk = 1\n\n[a]\nk\n", "[-]\nk=1\n", "[a]k=x\r",
	"[a]\nk = x  \"y\"\t\t\n", "[a]\nk = x\t#\n",
}

// listed returns settings in the format of git config -z --list.
func listed(list []Setting) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.Full())
		if !s.Alone {
			b.WriteString("\n" + s.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

func TestParse_AgreesWithGit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	for _, text := range configs {
		if err := compare(name, []byte(text)); err != nil {
			t.Error(err)
		}
	}
}

// compare compares Parse with git for a file.
func compare(name string, text []byte) error {
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	want, gitErr := exec.Command("git", "config", "-z", "--no-includes", "--list", "--file", name).Output()
	list, err := Parse(text)
	if (err == nil) != (gitErr == nil) {
		return fmt.Errorf("%q: got error %v, git %v", text, err, gitErr)
	}
	if got := listed(list); err == nil && got != string(want) {
		return fmt.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
	}
	return nil
}

func FuzzParse(f *testing.F) {
	for _, text := range configs {
		f.Add([]byte(text))
	}
	name := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.IndexByte(text, 0) >= 0 || bytes.Contains(text, []byte(`""]`)) { // parse refuses NUL, and takes [a ""] for [a]
			return
		}
		if err := compare(name, text); err != nil {
			t.Error(err)
		}
	})
}
