package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// webpPixel is a WebP with one pixel.
const webpPixel = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func fromBase64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// smooth returns an image that compresses well.
func smooth(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			copy(img.Pix[img.PixOffset(x, y):], []byte{uint8(255 * x / w), uint8(255 * y / h), 128, 255})
		}
	}
	return img
}

// noisy returns an image that does not compress well.
func noisy(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func asPNG(img image.Image) []byte {
	var b bytes.Buffer
	_ = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	return b.Bytes()
}

func asJPEG(img image.Image) []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, img, nil)
	return b.Bytes()
}

func asGIF(frames ...image.Image) []byte {
	var g gif.GIF
	for _, f := range frames {
		p := image.NewPaletted(f.Bounds(), palette.WebSafe)
		for y := range f.Bounds().Dy() {
			for x := range f.Bounds().Dx() {
				p.Set(x, y, f.At(x, y))
			}
		}
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, 1)
	}
	var b bytes.Buffer
	_ = gif.EncodeAll(&b, &g)
	return b.Bytes()
}

func asBMP(img image.Image) []byte {
	var b bytes.Buffer
	_ = bmp.Encode(&b, img)
	return b.Bytes()
}

func asTIFF(img image.Image) []byte {
	var b bytes.Buffer
	_ = tiff.Encode(&b, img, nil)
	return b.Bytes()
}

// check decodes an image from fit and checks the limits.
func check(t testing.TB, out []byte, mime string, l limits) image.Image {
	t.Helper()
	if Detect(out) != mime || mime != pngType && mime != jpegType {
		t.Fatalf("the image is %s and labelled %s", Detect(out), mime)
	}
	if l.bytes > 0 && len(out) > l.bytes {
		t.Fatalf("the image has %d bytes, over the limits %+v", len(out), l)
	}
	img, _, err := image.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatalf("the image cannot be decoded: %v", err)
	}
	if s := img.Bounds().Size(); l.side > 0 && max(s.X, s.Y) > l.side {
		t.Fatalf("the image is %v, over the limit of %d", s, l.side)
	}
	return img
}

func TestFit_AnImageWithinTheLimitsIsNotChanged(t *testing.T) {
	img := smooth(2000, 30)
	for mime, data := range map[string][]byte{pngType: asPNG(img), jpegType: asJPEG(img)} {
		out, got, err := fit(data, strictest)
		if err != nil || got != mime || &out[0] != &data[0] {
			t.Errorf("%s became %s of %d bytes, %v", mime, got, len(out), err)
		}
	}
}

func TestLimits_HoldForAllProviders(t *testing.T) {
	if want := (limits{side: 2000, bytes: 3_000_000}); strictest != want {
		t.Errorf("got %+v, want %+v", strictest, want)
	}
	if maxDecoded != 268_435_456 {
		t.Errorf("decoding may use %d bytes, want 268435456", maxDecoded)
	}
}

func TestFit_OtherImagesAreScaledOrConverted(t *testing.T) {
	tests := map[string]struct {
		data   []byte
		limits limits
		size   image.Point // zero means any
		mime   string
	}{
		"wide screenshot":      {asPNG(smooth(2400, 60)), strictest, image.Pt(2000, 50), pngType},
		"tall photograph":      {asJPEG(smooth(30, 2500)), strictest, image.Pt(24, 2000), jpegType},
		"one pixel wide":       {asPNG(smooth(1, 4001)), strictest, image.Pt(1, 2000), pngType},
		"noise over the bytes": {asPNG(noisy(300, 200)), limits{bytes: 80 << 10}, image.Pt(300, 200), jpegType},
		"only smaller helps":   {asPNG(noisy(200, 200)), limits{bytes: 4 << 10}, image.Point{}, jpegType},
		"GIF":                  {asGIF(smooth(50, 40)), strictest, image.Pt(50, 40), pngType},
		"WebP":                 {fromBase64(webpPixel), strictest, image.Pt(1, 1), ""},
		"animation":            {asGIF(smooth(50, 40), smooth(50, 40)), strictest, image.Pt(50, 40), pngType},
		"BMP":                  {asBMP(smooth(50, 40)), strictest, image.Pt(50, 40), pngType},
		"TIFF":                 {asTIFF(smooth(50, 40)), strictest, image.Pt(50, 40), pngType},
		"no limits at all":     {asBMP(smooth(50, 40)), limits{}, image.Pt(50, 40), pngType},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out, mime, err := fit(tt.data, tt.limits)
			if err != nil {
				t.Fatal(err)
			}
			img := check(t, out, mime, tt.limits)
			if tt.mime != "" && mime != tt.mime {
				t.Errorf("it became %s, want %s", mime, tt.mime)
			}
			if tt.size != (image.Point{}) && img.Bounds().Size() != tt.size {
				t.Errorf("its size is %v, want %v", img.Bounds().Size(), tt.size)
			}
		})
	}
}

func TestFit_ScalingKeepsTheColours(t *testing.T) {
	out, _, err := fit(asPNG(smooth(444, 310)), limits{side: 100})
	if err != nil {
		t.Fatal(err)
	}
	img, _, _ := image.Decode(bytes.NewReader(out))
	want := smooth(100, 70)
	for y := range 70 {
		for x := range 100 {
			r, g, b, a := img.At(x, y).RGBA()
			wr, wg, wb, wa := want.At(x, y).RGBA()
			for _, d := range []int{int(r) - int(wr), int(g) - int(wg), int(b) - int(wb), int(a) - int(wa)} {
				if d > 5<<8 || d < -5<<8 {
					t.Fatalf("at %d, %d the colour is %v, want %v", x, y, img.At(x, y), want.At(x, y))
				}
			}
		}
	}
}

func TestFit_TransparencyBecomesWhiteInAJPEG(t *testing.T) {
	glass := image.NewNRGBA(image.Rect(0, 0, 300, 300)) // all transparent
	out, mime, err := fit(asPNG(glass), limits{side: 100})
	if err != nil || mime != pngType {
		t.Fatalf("%s, %v", mime, err)
	}
	if _, _, _, a := check(t, out, mime, limits{side: 100}).At(50, 50).RGBA(); a != 0 {
		t.Errorf("the alpha is %d", a)
	}
	veiled := noisy(300, 300)
	for i := 3; i < len(veiled.Pix); i += 4 {
		veiled.Pix[i] = 40
	}
	out, mime, err = fit(asPNG(veiled), limits{bytes: 20 << 10})
	if err != nil || mime != jpegType {
		t.Fatalf("%s, %v", mime, err)
	}
	if r, _, _, _ := check(t, out, mime, limits{}).At(50, 50).RGBA(); r < 0xd000 {
		t.Errorf("the red channel is %x, want nearly white", r)
	}
}

// turnedJPEG returns a JPEG with a red left half and this EXIF orientation.
func turnedJPEG(turn byte, bigEndian bool) []byte {
	img := image.NewRGBA(image.Rect(0, 0, 400, 200))
	for y := range 200 {
		for x := range 400 {
			img.Set(x, y, color.RGBA{B: 255, A: 255})
			if x < 200 {
				img.Set(x, y, color.RGBA{R: 255, A: 255})
			}
		}
	}
	tag := "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string([]byte{turn, 0}) + "\x00\x00\x00\x00\x00\x00"
	if bigEndian {
		tag = "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01" + string([]byte{0, turn}) + "\x00\x00\x00\x00\x00\x00"
	}
	exif := "Exif\x00\x00" + tag
	data := asJPEG(img)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return slices.Concat(data[:2], segment, data[2:])
}

func TestFit_PhotographsStandUpright(t *testing.T) {
	// Where the red half is after turning.
	for turn, red := range map[byte]string{1: "left", 2: "right", 3: "right", 4: "left", 5: "top", 6: "top", 7: "bottom", 8: "bottom"} {
		for _, bigEndian := range []bool{false, true} {
			out, mime, err := fit(turnedJPEG(turn, bigEndian), limits{side: 100})
			if err != nil {
				t.Fatal(err)
			}
			img := check(t, out, mime, limits{side: 100})
			s := img.Bounds().Size()
			at := map[string]image.Point{"left": {5, s.Y / 2}, "right": {s.X - 5, s.Y / 2}, "top": {s.X / 2, 5}, "bottom": {s.X / 2, s.Y - 5}}[red]
			if r, _, b, _ := img.At(at.X, at.Y).RGBA(); r < b || turn >= 5 != (s.Y > s.X) {
				t.Errorf("orientation %d: the image is %v and not red at the %s", turn, s, red)
			}
		}
	}
}

func TestFit_OtherDataIsATypedError(t *testing.T) {
	img := asPNG(noisy(100, 100))
	photo := asJPEG(noisy(100, 100))
	huge := asPNG(smooth(10, 10))
	copy(huge[16:], "\x00\x00\xff\xff\x00\x00\xff\xff") // the width and the height
	fixCRC(huge)
	bomb := asGIF(smooth(4, 4))
	copy(bomb[6:], "\xff\xff\xff\xff")
	tests := map[string]struct {
		data []byte
		want Reason
	}{
		"nothing":        {nil, NotAnImage},
		"text":           {[]byte("hello, this is not an image"), NotAnImage},
		"a PDF":          {[]byte("%PDF-1.7 whatever"), NotAnImage},
		"an SVG":         {[]byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), Unsupported},
		"a HEIC":         {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1"), Unsupported},
		"an icon":        {[]byte("\x00\x00\x01\x00\x01\x00\x10\x10\x00\x00\x01\x00\x20\x00"), Unsupported},
		"cut PNG":        {img[:len(img)/2], Corrupt},
		"cut JPEG":       {photo[:len(photo)/2], Corrupt},
		"only a header":  {img[:8], Corrupt},
		"PNG bomb":       {huge, TooLarge},
		"GIF bomb":       {bomb, TooLarge},
		"animated WebP":  {[]byte("RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"), Unsupported},
		"damaged WebP":   {fromBase64(webpPixel)[:20], Corrupt},
		"damaged TIFF":   {[]byte("II*\x00\xff\xff\xff\x7f"), Corrupt},
		"damaged bitmap": {asBMP(smooth(9, 9))[:60], Corrupt},
	}
	for name, tt := range tests {
		_, _, err := fit(tt.data, strictest)
		var e *Error
		if !errors.As(err, &e) || e.Reason != tt.want {
			t.Errorf("%s: %v, want reason %s", name, err, tt.want)
		}
	}
	if _, _, err := fit(img, limits{bytes: 10}); err == nil {
		t.Error("got no error for a limit of ten bytes")
	}
}

func FuzzFit(f *testing.F) {
	img := smooth(20, 10)
	for _, data := range [][]byte{
		asPNG(img), asJPEG(img), asGIF(img, img), asBMP(img), asTIFF(img), fromBase64(webpPixel), turnedJPEG(6, true), turnedJPEG(8, false),
		[]byte("<svg"), []byte("\x00\x00\x00\x18ftypheic"), {0xff, 0xd8, 0xff, 0xff, 0xff}, []byte("RIFF"), []byte("BM"), nil,
	} {
		f.Add(data, uint16(8), uint16(400))
	}
	f.Fuzz(func(t *testing.T, data []byte, side, size uint16) {
		l := limits{side: int(side), bytes: int(size)}
		out, mime, err := fit(data, l)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("the error is %#v", err)
			}
			return
		}
		check(t, out, mime, l)
	})
}

// fixCRC corrects the checksum in a PNG header.

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
				if _, _, err := fit(data, strictest); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
