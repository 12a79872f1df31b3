package chatgpt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/filelock"
	"github.com/reins-agent/reins/llm"
)

// version is the file version.
const version = 1

// saved is the file content.
type saved struct {
	Version  int      `json:"version"`
	HostID   string   `json:"host_id"`             // identifies this machine; kept forever
	ClientID string   `json:"client_id,omitempty"` // the registration of Reins with the account
	Subject  string   `json:"subject,omitempty"`   // the account
	Email    string   `json:"email,omitempty"`
	Scopes   []string `json:"scopes,omitempty"` // what the user allowed

	AccessToken  string    `json:"access_token,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	Expires      time.Time `json:"expires,omitzero"`       // when the access token expires
	RefreshFrom  time.Time `json:"refresh_from,omitzero"`  // OpenAI refuses an earlier refresh; may be unknown
	RefreshUntil time.Time `json:"refresh_until,omitzero"` // when the refresh token expires
}

// signedIn reports whether there are tokens for the plan.
func (s saved) signedIn() bool { return s.AccessToken != "" && slices.Contains(s.Scopes, planScope) }

// signedOut returns s without its tokens. A later sign-in uses the same registration.
func (s saved) signedOut() saved {
	s.AccessToken, s.RefreshToken = "", ""
	s.Expires = time.Time{}
	s.RefreshFrom = time.Time{}
	s.RefreshUntil = time.Time{}
	return s
}

func (a *Account) file() string { return filepath.Join(a.Dir, "signin.json") }

// load reads the file. Without one, it returns a zero value. It refuses a file that others can read or that belongs to
// another user.
func (a *Account) load() (s saved, err error) {
	if a.Dir == "" {
		return s, errNoDir()
	}
	f, err := os.Open(a.file())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, configured(err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return s, configured(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return s, configured(err)
	}
	if json.Unmarshal(data, &s) != nil {
		return saved{}, configured(fmt.Errorf("%s is damaged; delete it and %s", a.file(), again))
	}
	if s.Version != version {
		return saved{}, configured(
			fmt.Errorf("%s has version %d, but this program reads version %d; use the newer program, or delete the file and %s",
				a.file(), s.Version, version, again),
		)
	}
	return s, nil
}

// save replaces the file.
func (a *Account) save(s saved) error {
	s.Version = version
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = atomicfile.Write(a.file(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return configured(fmt.Errorf("cannot save the ChatGPT sign-in: %w", err))
	}
	return nil
}

// lockTime is how long to wait for another process that changes the file.
const lockTime = 90 * time.Second

// lock keeps other processes from changing the file.
func (a *Account) lock(ctx context.Context) (unlock func() error, err error) {
	if a.Dir == "" {
		return nil, errNoDir()
	}
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return nil, configured(err)
	}
	f, err := os.OpenFile(filepath.Join(a.Dir, "signin.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, configured(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another process is changing the ChatGPT sign-in; try again"))
	defer cancel()
	if err := filelock.Wait(ctx, f); err != nil {
		f.Close()
		return nil, llm.Errorf(llm.ErrTimeout, "", "%w", err)
	}
	return f.Close, nil
}

func errNoDir() error {
	return llm.Errorf(llm.ErrConfiguration, "", "there is no directory for the ChatGPT sign-in; set REINS_HOME")
}

// configured returns an error about the files on this machine.
func configured(err error) error { return llm.Errorf(llm.ErrConfiguration, "", "%w", err) }
