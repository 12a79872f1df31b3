package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// readFirst adds the ReadBeforeWrite rule to the description of a tool that changes existing files.
func (f files) readFirst(description string) string {
	if f.config.ReadBeforeWrite {
		description += " An existing file must be read first."
	}
	return description
}

// saw records the content of a file that the model has read or written.
func (f files) saw(ctx context.Context, e env.Environment, p string, content []byte) {
	if !f.config.ReadBeforeWrite {
		return
	}
	s := f.config.State
	key := seenKey(ctx, e, p)
	sum := hash(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news == nil {
		s.news = make(map[string]string)
	}
	s.seen[key], s.news[key] = sum, sum
}

// Seen returns the hashes of the files that were read or written since the last call of Seen, for Remember.
func (s *State) Seen() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.news
	s.news = nil
	return news
}

// Remember adds the hashes of files that were read or written earlier.
func (s *State) Remember(seen map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.seen, seen)
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// unread returns an error if a file must not be changed because the model has not read its current content. content and
// err are the result of reading the file. Files that are empty or do not exist need not be read.
func (f files) unread(ctx context.Context, e env.Environment, p string, content []byte, err error) error {
	switch {
	case !f.config.ReadBeforeWrite, errors.Is(err, fs.ErrNotExist), err == nil && len(content) == 0:
		return nil
	case errors.Is(err, env.ErrTooLarge):
		return tool.Errorf(
			tool.TooLarge,
			"%s is too large to read, and files must be read before they are changed. Change it with a command.", p,
		)
	case err != nil:
		return failed(err, p)
	}
	s := f.config.State
	s.mu.Lock()
	sum, read := s.seen[seenKey(ctx, e, p)]
	s.mu.Unlock()
	switch {
	case !read:
		return tool.Errorf(tool.NotRead, "%s has not been read yet. Read it before changing it.", p)
	case sum != hash(content):
		return tool.Errorf(tool.NotRead, "%s has been modified since it was read. Read it again before changing it.", p)
	}
	return nil
}

// seenKey identifies a file.
func seenKey(ctx context.Context, e env.Environment, p string) string {
	if real, err := e.RealPath(ctx, p); err == nil {
		p = real
	}
	return e.Info().Paths().Key(p)
}
