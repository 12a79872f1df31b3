package picture_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/reins-agent/reins/llm/picture"
)

// fixCRC makes the checksum of a PNG's header right again.
func fixCRC(data []byte) { binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29])) }

func BenchmarkFit(b *testing.B) {
	for name, data := range map[string][]byte{
		"screenshot 1280x720 as it is":  asPNG(smooth(1280, 720)),
		"screenshot 3840x2160 to scale": asPNG(smooth(3840, 2160)),
		"photograph 12 MP to scale":     asJPEG(smooth(4000, 3000)),
		"photograph 48 MP to scale":     asJPEG(smooth(8000, 6000)),
		"noise to compress":             asPNG(noisy(1400, 1400)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, _, err := picture.Fit(data, picture.Strictest()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
