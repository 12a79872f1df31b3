package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ID identifies a checkpoint in a store. Later checkpoints have greater IDs, and no ID is used twice.
type ID string

// Checkpoint describes a checkpoint.
type Checkpoint struct {
	ID    ID        `json:"id"`
	Label string    `json:"label"`
	Time  time.Time `json:"time"`
	Files int       `json:"files"`
	Bytes int64     `json:"bytes"`
	root  hash

	unreadable []string // paths that existed but could not be read
}

// record is a checkpoint's file: one line of JSON, and a line with its SHA-256.
type record struct {
	Checkpoint
	Root       string   `json:"root"`
	Unreadable [][]byte `json:"unreadable,omitempty"` // names that need not be valid UTF-8
}

// An ID is a number with ten digits, a dash, and eight random hexadecimal digits.
const idDigits = 10

// parseID returns an ID's number. Anything that is not an ID could be a path and is refused.
func parseID(id ID) (uint64, bool) {
	number, random, ok := strings.Cut(string(id), "-")
	if !ok || len(number) != idDigits || len(random) != 8 {
		return 0, false
	}
	if _, err := hex.DecodeString(random); err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	return n, err == nil
}

// ids lists the checkpoints, oldest first, and removes incomplete files that crashed writers left.
func (s *Store) ids() ([]ID, error) {
	entries, err := os.ReadDir(s.records())
	if err != nil {
		return nil, err
	}
	var list []ID
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			os.Remove(filepath.Join(s.records(), e.Name()))
		} else if _, ok := parseID(ID(e.Name())); ok {
			list = append(list, ID(e.Name()))
		}
	}
	slices.Sort(list)
	return list, nil
}

// record creates a checkpoint, unless the newest checkpoint is the same.
func (s *Store) record(c Checkpoint) (ID, error) {
	list, err := s.ids()
	if err != nil {
		return "", err
	}
	var last uint64
	if len(list) > 0 {
		newest := list[len(list)-1]
		if n, err := s.readRecord(newest); err == nil && n.root == c.root && slices.Equal(n.unreadable, c.unreadable) {
			return newest, nil
		}
		last, _ = parseID(newest)
	}
	c.ID = ID(fmt.Sprintf("%0*d-%s", idDigits, last+1, newName()[:8]))
	f, err := s.createTemp(s.records())
	if err != nil {
		return "", err
	}
	_, err = f.Write(encodeRecord(c))
	return c.ID, s.publish(f, filepath.Join(s.records(), string(c.ID)), err)
}

func encodeRecord(c Checkpoint) []byte {
	r := record{Checkpoint: c, Root: c.root.String()}
	for _, p := range c.unreadable {
		r.Unreadable = append(r.Unreadable, []byte(p))
	}
	line, _ := json.Marshal(r) // strings, numbers and a time always encode
	sum := sha256.Sum256(line)
	return fmt.Appendf(nil, "%s\n%x\n", line, sum)
}

func decodeRecord(data []byte) (Checkpoint, error) {
	line, sum, _ := strings.Cut(string(data), "\n")
	if fmt.Sprintf("%x\n", sha256.Sum256([]byte(line))) != sum {
		return Checkpoint{}, errors.New("wrong checksum")
	}
	var r record
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return Checkpoint{}, err
	}
	root, err := hex.DecodeString(r.Root)
	if err != nil || len(root) != len(hash{}) {
		return Checkpoint{}, errEncoding
	}
	r.Checkpoint.root = hash(root)
	for _, p := range r.Unreadable {
		r.unreadable = append(r.unreadable, string(p))
	}
	return r.Checkpoint, nil
}

func (s *Store) readRecord(id ID) (Checkpoint, error) {
	if _, ok := parseID(id); !ok {
		return Checkpoint{}, fmt.Errorf("%w: invalid ID %q", ErrNotFound, string(id))
	}
	data, err := readRegular(filepath.Join(s.records(), string(id)))
	if errors.Is(err, os.ErrNotExist) {
		return Checkpoint{}, fmt.Errorf("%w: %s (it may have been pruned)", ErrNotFound, id)
	}
	var c Checkpoint
	if err == nil {
		c, err = decodeRecord(data)
	}
	if err == nil && c.ID != id {
		err = errors.New("record of another checkpoint")
	}
	if err != nil {
		return Checkpoint{}, &DamagedError{"checkpoints/" + string(id), reason(err).Error()}
	}
	return c, nil
}

// List returns the checkpoints, oldest first. If some cannot be read, it returns the others and an error that wraps a
// [DamagedError] for each.
func (s *Store) List(ctx context.Context) (list []Checkpoint, err error) {
	err = s.locked(ctx, "list checkpoints", func() error {
		var faults []error
		list, faults, err = s.list()
		return errors.Join(err, errors.Join(faults...))
	})
	return list, err
}

func (s *Store) list() (list []Checkpoint, faults []error, err error) {
	ids, err := s.ids()
	for _, id := range ids {
		c, err := s.readRecord(id)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		list = append(list, c)
	}
	return list, faults, err
}
