package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image/png"
	"testing"
)

// claims returns a PNG that claims a size.
func claims(w, h uint32) []byte {
	b := asPNG(smooth(1, 1))
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func TestPreview_FitsIntoItsSizeAndBytes(t *testing.T) {
	for _, test := range []struct{ w, h, width, height, maxBytes, wantW, wantH int }{
		{400, 200, 100, 100, 1 << 20, 100, 50},
		{200, 400, 100, 100, 1 << 20, 50, 100},
		{40, 20, 100, 100, 1 << 20, 40, 20}, // not enlarged
		{4000, 1, 100, 100, 1 << 20, 100, 1},
	} {
		got, err := Preview(asPNG(smooth(test.w, test.h)), test.width, test.height, 1<<24, test.maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		if w, h := Size(got); w != test.wantW || h != test.wantH {
			t.Errorf("%d×%d in %d×%d is %d×%d, want %d×%d", test.w, test.h, test.width, test.height, w, h, test.wantW, test.wantH)
		}
	}
	got, err := Preview(asPNG(smooth(400, 400)), 400, 400, 1<<24, 2000)
	if _, bad := png.Decode(bytes.NewReader(got)); err != nil || bad != nil || len(got) > 2000 {
		t.Errorf("got %d bytes, %v, %v; want a PNG of at most 2000 bytes", len(got), err, bad)
	}
}

func TestPreview_RefusesBombsByTheirHeader(t *testing.T) {
	for _, size := range [][2]uint32{{60000, 60000}, {1 << 30, 1}, {5000, 5000}} {
		_, err := Preview(claims(size[0], size[1]), 100, 100, 1<<24, 1<<20)
		if e := new(Error); !errors.As(err, &e) || e.Reason != TooLarge {
			t.Errorf("%d×%d: %v, want %s", size[0], size[1], err, TooLarge)
		}
	}
	if _, err := Preview([]byte("hello"), 100, 100, 1<<24, 1<<20); err == nil {
		t.Error("a text has a preview")
	}
}

func TestSize_IsThatOfTheUprightImage(t *testing.T) {
	if w, h := Size(claims(60000, 7)); w != 60000 || h != 7 {
		t.Errorf("got %d×%d, want 60000×7", w, h)
	}
	if w, h := Size([]byte("\x89PNG\r\n\x1a\nbroken")); w != 0 || h != 0 {
		t.Errorf("a broken header has %d×%d", w, h)
	}
}
