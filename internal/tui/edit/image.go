package edit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	maxImage         = 20 << 20
	clipboardTimeout = 5 * time.Second
)

// ErrNoImage means that the clipboard has no image.
var ErrNoImage = errors.New("the clipboard has no image")

// imageTypes are the types that are read from the clipboard, the best first.
var imageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif"}

// Clipboard reads images from the clipboard, with the programs that each system has for it.
type Clipboard struct {
	OS     string              // default: this one
	Getenv func(string) string // default: os.Getenv
}

// Image returns the image in the clipboard. It fails with [ErrNoImage] if there is none, and otherwise says what to do.
func (c Clipboard) Image(ctx context.Context) (Image, error) {
	if c.OS == "" {
		c.OS = runtime.GOOS
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardTimeout)
	defer cancel()
	data, err := c.read(ctx)
	switch {
	case err != nil:
		return Image{}, err
	case len(data) == 0:
		return Image{}, ErrNoImage
	}
	return newImage("", data)
}

func (c Clipboard) read(ctx context.Context) ([]byte, error) {
	ssh := c.Getenv("SSH_CONNECTION") != "" || c.Getenv("SSH_TTY") != ""
	switch {
	case c.OS == "windows" && !ssh:
		return readPowerShell(ctx)
	case c.OS == "darwin" && !ssh:
		return readMac(ctx)
	case c.wsl() && !ssh: // WSL has a Wayland display, too, which shares only text with Windows
		return readPowerShell(ctx)
	case c.Getenv("WAYLAND_DISPLAY") != "":
		return readTargets(ctx, "wl-clipboard", []string{"wl-paste", "--list-types"}, func(kind string) []string {
			return []string{"wl-paste", "--no-newline", "--type", kind}
		})
	case c.Getenv("DISPLAY") != "":
		return readTargets(ctx, "xclip", []string{"xclip", "-selection", "clipboard", "-t", "TARGETS", "-o"}, func(kind string) []string {
			return []string{"xclip", "-selection", "clipboard", "-t", kind, "-o"}
		})
	case ssh:
		return nil, errors.New(
			"the clipboard is on the computer that you connect from: copy the image file here with scp, and paste its path",
		)
	}
	return nil, errors.New("there is no clipboard: WAYLAND_DISPLAY and DISPLAY are not set; paste the path of an image file")
}

// wsl reports whether this is Linux in Windows.
func (c Clipboard) wsl() bool {
	return c.Getenv("WSL_DISTRO_NAME") != "" || c.Getenv("WSL_INTEROP") != ""
}

// readTargets reads the best type of image that a clipboard offers.
func readTargets(ctx context.Context, pkg string, list []string, read func(kind string) []string) ([]byte, error) {
	if _, err := exec.LookPath(list[0]); err != nil {
		return nil, fmt.Errorf("pasting images needs %s: install %s", list[0], pkg)
	}
	out, err := output(ctx, list...)
	if err != nil {
		if ctx.Err() == nil {
			err = ErrNoImage // both programs fail if the clipboard is empty
		}
		return nil, err
	}
	offered := strings.Fields(string(out))
	for _, kind := range imageTypes {
		for _, o := range offered {
			if o == kind {
				return output(ctx, read(kind)...)
			}
		}
	}
	return nil, nil
}

// readMac reads the clipboard of macOS, which osascript writes as «data PNGf89504E47…».
func readMac(ctx context.Context) ([]byte, error) {
	out, err := output(ctx, "osascript", "-e", "the clipboard as «class PNGf»")
	if err != nil {
		if ctx.Err() == nil {
			err = ErrNoImage
		}
		return nil, err
	}
	_, digits, ok := strings.Cut(string(out), "PNGf")
	if !ok {
		return nil, nil
	}
	digits, _, _ = strings.Cut(digits, "»")
	return hex.DecodeString(digits)
}

const powerShell = `Add-Type -AssemblyName System.Windows.Forms,System.Drawing; ` +
	`$i = [System.Windows.Forms.Clipboard]::GetImage(); if ($i) { $m = New-Object IO.MemoryStream; ` +
	`$i.Save($m, [System.Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }`

// readPowerShell reads the clipboard of Windows.
func readPowerShell(ctx context.Context) ([]byte, error) {
	out, err := output(ctx, "powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", powerShell)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(strings.TrimSpace(string(out)))
}

// output runs a program and returns its output, up to the size of the largest image in text form.
func output(ctx context.Context, command ...string) ([]byte, error) {
	var out, problem limited
	out.max, problem.max = 2*maxImage+1024, 1024
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &problem, time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot read the clipboard: %s did not answer within %v", command[0], clipboardTimeout)
	case err != nil:
		return nil, fmt.Errorf("cannot read the clipboard: %s: %w", command[0], errors.Join(err, problem.err()))
	case out.over:
		return nil, tooLarge("the image in the clipboard")
	}
	return out.Bytes(), nil
}

// limited keeps the first bytes written to it.
type limited struct {
	bytes.Buffer
	max  int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	keep := min(len(p), l.max-l.Len())
	l.over = l.over || keep < len(p)
	l.Buffer.Write(p[:keep])
	return len(p), nil
}

func (l *limited) err() error {
	line, _, _ := strings.Cut(strings.TrimSpace(l.String()), "\n")
	if line == "" {
		return nil
	}
	return errors.New(line)
}

func tooLarge(what string) error {
	return fmt.Errorf("%s is larger than %d MB: make it smaller", what, maxImage>>20)
}

// newImage checks that data is an image.
func newImage(name string, data []byte) (Image, error) {
	what := name
	if what == "" {
		what = "the image in the clipboard"
	}
	if len(data) > maxImage {
		return Image{}, tooLarge(what)
	}
	kind := http.DetectContentType(data)
	for _, known := range imageTypes {
		if kind == known {
			return Image{Name: name, Type: kind, Data: data}, nil
		}
	}
	return Image{}, fmt.Errorf("%s is not a PNG, JPEG, WebP or GIF image", what)
}

// ReadImage reads an image file.
func ReadImage(path string) (Image, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Image{}, fmt.Errorf("cannot read the image: %s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	return newImage(filepath.Base(path), data)
}

// Dropped returns the paths of image files, if a pasted text is nothing else: terminals paste the paths of files that are
// dropped on them, quoted, with backslashes, or as URLs. All files exist.
func Dropped(pasted string) []string {
	words, ok := splitPaths(strings.TrimSpace(pasted))
	if !ok || len(words) == 0 || len(words) > 20 {
		return nil
	}
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, "file://"); ok {
			u, err := url.PathUnescape(strings.TrimPrefix(rest, "localhost"))
			if err != nil {
				return nil
			}
			w = u
		}
		switch strings.ToLower(filepath.Ext(w)) {
		case ".png", ".jpg", ".jpeg", ".webp", ".gif":
		default:
			return nil
		}
		if info, err := os.Stat(w); !filepath.IsAbs(w) || err != nil || !info.Mode().IsRegular() {
			return nil
		}
		words[i] = w
	}
	return words
}

// splitPaths splits a text into paths as a shell does. It fails if a quote is open.
func splitPaths(s string) (list []string, ok bool) {
	if len(s) > 20_000 {
		return nil, false
	}
	var w strings.Builder
	var quote rune
	inside, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			w.WriteRune(r)
			escaped = false
		case r == '\\' && quote == 0 && !windowsPath(w.String()):
			escaped, inside = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && (r == ' ' || r == '\n'):
			if inside {
				list = append(list, w.String())
			}
			w.Reset()
			inside = false
		default:
			w.WriteRune(r)
			inside = true
		}
	}
	if inside {
		list = append(list, w.String())
	}
	return list, quote == 0 && !escaped
}

// windowsPath reports whether a word begins with a drive, so that backslashes separate its elements.
func windowsPath(w string) bool { return len(w) >= 2 && w[1] == ':' }
