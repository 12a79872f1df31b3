package gitrisk

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"
)

// entry returns a version 2 index entry.
func entry(mode uint32, name string) []byte {
	b := make([]byte, 62, 62+len(name)+8)
	binary.BigEndian.PutUint32(b[24:], mode)
	binary.BigEndian.PutUint16(b[60:], uint16(len(name)))
	b = append(b, name...)
	return append(b, make([]byte, 8-len(b)%8)...)
}

func extension(name string, body ...[]byte) []byte {
	b := slices.Concat(body...)
	return slices.Concat([]byte(name), number(len(b)), b)
}

func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// build returns an index of entries and extensions.
func build(entries [][]byte, extensions ...[]byte) []byte {
	return slices.Concat([]byte("DIRC"), number(2), number(len(entries)), slices.Concat(entries...), slices.Concat(extensions...), make([]byte, 20))
}

func TestNested_ReadsMoreFlagsInEveryVersion(t *testing.T) {
	plain := entry(0o100644, "\x00\x00a")
	binary.BigEndian.PutUint16(plain[60:], 0x4000|1)
	paths, err := nested(build([][]byte{plain, entry(modeRepo, "b")}), 20)
	if !paths["b"] || err != nil {
		t.Errorf("got %v, %v", paths, err)
	}
}

// Git can find entries by offsets. They must not lead to others than those that follow the header.
func TestNested_FindsEntriesThatOnlyOffsetsName(t *testing.T) {
	plain, hidden := entry(0o100644, "a"), entry(modeRepo, "b")
	end := 12 + len(plain)
	data := build([][]byte{plain}, extension("JUNK", hidden), extension("IEOT", number(1), number(end+8), number(1)))
	paths, err := nested(data, 20)
	if got := slices.Collect(maps.Keys(paths)); err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %v, %v", got, err)
	}
	eoie := func(offset int) []byte { return extension("EOIE", number(offset), make([]byte, 20)) }
	if _, err := nested(build([][]byte{plain}, eoie(end)), 20); err != nil {
		t.Errorf("the offset of the extensions is right: %v", err)
	}
	if _, err := nested(build([][]byte{plain}, extension("JUNK", hidden), eoie(end+8)), 20); err == nil {
		t.Error("extensions start elsewhere for git: no error")
	}
}

func TestNested_RefusesUnreadableRepositories(t *testing.T) {
	long := entry(0o100644, "name")
	long[61]++ // in the name length
	for name, data := range map[string][]byte{
		"empty":        nil,
		"magic":        append([]byte("DIRD"), make([]byte, 40)...),
		"version 5":    slices.Concat([]byte("DIRC"), number(5), number(0), make([]byte, 20)),
		"entries":      slices.Concat([]byte("DIRC"), number(2), number(1), make([]byte, 20)),
		"name":         build([][]byte{long}),
		"split":        build(nil, extension("link", make([]byte, 20))),
		"table":        build([][]byte{entry(0o100644, "a")}, extension("IEOT", number(1), number(12), number(1), number(12), number(1))),
		"offset":       build([][]byte{entry(0o100644, "a")}, extension("IEOT", number(1), number(4), number(1))),
		"size":         build(nil, slices.Concat([]byte("TREE"), number(1000), make([]byte, 30))),
		"long offsets": build(nil, extension("IEOT", number(1), number(1<<31), number(1))),
	} {
		if paths, err := nested(data, 20); err == nil {
			t.Errorf("%s: no error, %v", name, paths)
		}
	}
}

func FuzzNested(f *testing.F) {
	f.Add(build([][]byte{entry(0o100644, "a"), entry(modeRepo, "b/c"), entry(modeDir, "d/")}, extension("TREE", []byte("x"))))
	v4 := build([][]byte{entry(0o100644, "\x00ab")})
	v4[7] = 4
	f.Add(v4)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = nested(data, 20)
		_, _ = nested(data, 32)
	})
}
