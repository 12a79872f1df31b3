package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
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

// ID names a checkpoint of a store: a number that grows from one to the next, and some random
// digits, so that an ID is never used again. Later checkpoints have greater IDs.
type ID string

// Checkpoint describes a checkpoint.
type Checkpoint struct {
	ID    ID        `json:"id"`
	Label string    `json:"label"`
	Time  time.Time `json:"time"`
	Files int       `json:"files"`
	Bytes int64     `json:"bytes"`
	root  hash

	unreadable []string // paths that were there but could not be read
}

// record is the file of a checkpoint: this as JSON on one line, and the hash of that line.
type record struct {
	Checkpoint
	Root       string   `json:"root"`
	Unreadable [][]byte `json:"unreadable,omitempty"` // as bytes, since names need not be text
}

const idDigits = 10

// parseID gives the number of an ID. What is no ID could be any path.
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

// newName is a name that no other file has.
func newName() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// ids lists the checkpoints there are, oldest first, and removes what crashed writers left.
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
	slices.SortFunc(list, func(a, b ID) int { return cmp.Compare(a, b) })
	return list, nil
}

// record makes a checkpoint exist, unless the newest one holds the same.
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
	return s.writeRecord(c, last)
}

// writeRecord makes a checkpoint exist, under the number behind the last.
func (s *Store) writeRecord(c Checkpoint, last uint64) (ID, error) {
	c.ID = ID(fmt.Sprintf("%0*d-%s", idDigits, last+1, newName()[:8]))
	temp := filepath.Join(s.records(), tempPrefix+newName())
	if err := s.writeSynced(temp, encodeRecord(c)); err != nil {
		os.Remove(temp)
		return "", err
	}
	if err := s.step("rename record"); err != nil {
		os.Remove(temp)
		return "", err
	}
	if err := os.Rename(temp, filepath.Join(s.records(), string(c.ID))); err != nil {
		os.Remove(temp)
		return "", err
	}
	if err := s.step("sync records"); err != nil {
		return "", err
	}
	return c.ID, syncDir(s.records())
}

func (s *Store) writeSynced(path string, data []byte) error {
	if err := s.step("write record"); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = s.step("sync record")
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
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
		return Checkpoint{}, errors.New("its checksum is wrong")
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

// readRecord reads the record of a checkpoint.
func (s *Store) readRecord(id ID) (Checkpoint, error) {
	if _, ok := parseID(id); !ok {
		return Checkpoint{}, fmt.Errorf("%w: %q is not the id of one", ErrNotFound, string(id))
	}
	data, err := readRegular(filepath.Join(s.records(), string(id)))
	if errors.Is(err, os.ErrNotExist) {
		return Checkpoint{}, fmt.Errorf("%w: %s; it may have been pruned", ErrNotFound, id)
	}
	if err != nil {
		return Checkpoint{}, &DamagedError{"checkpoints/" + string(id), reason(err).Error()}
	}
	c, err := decodeRecord(data)
	if err == nil && c.ID != id {
		err = errors.New("it is the record of another checkpoint")
	}
	if err != nil {
		return Checkpoint{}, &DamagedError{"checkpoints/" + string(id), err.Error()}
	}
	return c, nil
}

// List gives the checkpoints, oldest first. If some cannot be read, it gives the others, and an
// error that wraps a [DamagedError] for each.
func (s *Store) List(ctx context.Context) ([]Checkpoint, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.list()
}

func (s *Store) list() ([]Checkpoint, error) {
	all, err := s.ids()
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var list []Checkpoint
	var errs []error
	for _, id := range all {
		c, err := s.readRecord(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}
