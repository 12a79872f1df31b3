package picture_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/reins-agent/reins/llm/picture"
)

// webpPixel is a WebP of one pixel.
const webpPixel = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func fromBase64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// smooth is an image that compresses well, noisy one that does not.
func smooth(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			copy(img.Pix[img.PixOffset(x, y):], []byte{uint8(255 * x / w), uint8(255 * y / h), 128, 255})
		}
	}
	return img
}

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

// check decodes what Fit made and sees that it keeps to the limits.
func check(t testing.TB, out []byte, mime string, l picture.Limits) image.Image {
	t.Helper()
	if picture.Detect(out) != mime || len(l.Formats) > 0 && !slices.Contains(l.Formats, mime) {
		t.Fatalf("the image is %s and said to be %s; %v are taken", picture.Detect(out), mime, l.Formats)
	}
	if l.Bytes > 0 && len(out) > l.Bytes || l.Base64 > 0 && base64.StdEncoding.EncodedLen(len(out)) > l.Base64 {
		t.Fatalf("the image has %d bytes, over the limits %+v", len(out), l)
	}
	img, _, err := image.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatalf("the image cannot be decoded: %v", err)
	}
	if s := img.Bounds().Size(); l.Side > 0 && max(s.X, s.Y) > l.Side {
		t.Fatalf("the image is %v, over the limit of %d", s, l.Side)
	}
	return img
}

func TestFit_WhatIsWithinTheLimitsPassesUnchanged(t *testing.T) {
	img := smooth(40, 30)
	for mime, data := range map[string][]byte{
		picture.PNG: asPNG(img), picture.JPEG: asJPEG(img), picture.GIF: asGIF(img), picture.WebP: fromBase64(webpPixel),
	} {
		out, got, err := picture.Fit(data, picture.For("anthropic"))
		if err != nil || got != mime || &out[0] != &data[0] {
			t.Errorf("%s became %s of %d bytes, %v", mime, got, len(out), err)
		}
	}
}

func TestFit_WhatIsTooLargeIsMadeToFit(t *testing.T) {
	tests := map[string]struct {
		data   []byte
		limits picture.Limits
		size   image.Point // wanted; zero is any
		mime   string
	}{
		"wide screenshot":          {asPNG(smooth(2400, 60)), picture.Strictest(), image.Pt(2000, 50), picture.PNG},
		"tall photograph":          {asJPEG(smooth(30, 2500)), picture.Strictest(), image.Pt(24, 2000), picture.JPEG},
		"one pixel wide":           {asPNG(smooth(1, 4001)), picture.Strictest(), image.Pt(1, 2000), picture.PNG},
		"noise over the bytes":     {asPNG(noisy(300, 200)), picture.Limits{Bytes: 80 << 10}, image.Pt(300, 200), picture.JPEG},
		"noise over base64":        {asPNG(noisy(200, 200)), picture.Limits{Base64: 64 << 10}, image.Pt(200, 200), picture.JPEG},
		"only smaller helps":       {asPNG(noisy(200, 200)), picture.Limits{Bytes: 4 << 10}, image.Point{}, picture.JPEG},
		"GIF where it is not read": {asGIF(smooth(50, 40)), picture.For("gemini"), image.Pt(50, 40), picture.PNG},
		"WebP likewise":            {fromBase64(webpPixel), picture.For("chat"), image.Pt(1, 1), ""},
		"animation":                {asGIF(smooth(50, 40), smooth(50, 40)), picture.For("openai"), image.Pt(50, 40), picture.PNG},
		"BMP":                      {asBMP(smooth(50, 40)), picture.For("openai"), image.Pt(50, 40), picture.PNG},
		"TIFF":                     {asTIFF(smooth(50, 40)), picture.For("openai"), image.Pt(50, 40), picture.PNG},
		"no limits at all":         {asBMP(smooth(50, 40)), picture.Limits{}, image.Pt(50, 40), picture.PNG},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out, mime, err := picture.Fit(tt.data, tt.limits)
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
	out, _, err := picture.Fit(asPNG(smooth(444, 310)), picture.Limits{Side: 100})
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

func TestFit_TransparencyIsKeptOrPutOnWhite(t *testing.T) {
	glass := image.NewNRGBA(image.Rect(0, 0, 300, 300)) // all transparent
	out, mime, err := picture.Fit(asPNG(glass), picture.Limits{Side: 100})
	if err != nil || mime != picture.PNG {
		t.Fatalf("%s, %v", mime, err)
	}
	if _, _, _, a := check(t, out, mime, picture.Limits{Side: 100}).At(50, 50).RGBA(); a != 0 {
		t.Errorf("the alpha is %d", a)
	}
	veiled := noisy(300, 300)
	for i := 3; i < len(veiled.Pix); i += 4 {
		veiled.Pix[i] = 40
	}
	out, mime, err = picture.Fit(asPNG(veiled), picture.Limits{Bytes: 20 << 10})
	if err != nil || mime != picture.JPEG {
		t.Fatalf("%s, %v", mime, err)
	}
	if r, _, _, _ := check(t, out, mime, picture.Limits{}).At(50, 50).RGBA(); r < 0xd000 {
		t.Errorf("the veil is on %x, not on white", r)
	}
}

// turnedJPEG is a JPEG with a red left half whose EXIF has this orientation.
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
	// Where the red half of the stored image is once it is turned.
	for turn, red := range map[byte]string{1: "left", 2: "right", 3: "right", 4: "left", 5: "top", 6: "top", 7: "bottom", 8: "bottom"} {
		for _, bigEndian := range []bool{false, true} {
			out, mime, err := picture.Fit(turnedJPEG(turn, bigEndian), picture.Limits{Side: 100})
			if err != nil {
				t.Fatal(err)
			}
			img := check(t, out, mime, picture.Limits{Side: 100})
			s := img.Bounds().Size()
			at := map[string]image.Point{"left": {5, s.Y / 2}, "right": {s.X - 5, s.Y / 2}, "top": {s.X / 2, 5}, "bottom": {s.X / 2, s.Y - 5}}[red]
			if r, _, b, _ := img.At(at.X, at.Y).RGBA(); r < b || turn >= 5 != (s.Y > s.X) {
				t.Errorf("orientation %d: the image is %v and not red at the %s", turn, s, red)
			}
		}
	}
}

func TestFit_WhatCannotBeSentIsATypedError(t *testing.T) {
	img := asPNG(noisy(100, 100))
	photo := asJPEG(noisy(100, 100))
	huge := asPNG(smooth(10, 10))
	copy(huge[16:], "\x00\x00\xff\xff\x00\x00\xff\xff") // the width and the height
	fixCRC(huge)
	bomb := asGIF(smooth(4, 4))
	copy(bomb[6:], "\xff\xff\xff\xff")
	tests := map[string]struct {
		data []byte
		want picture.Reason
	}{
		"nothing":        {nil, picture.NotAnImage},
		"text":           {[]byte("hello, this is no image"), picture.NotAnImage},
		"a PDF":          {[]byte("%PDF-1.7 whatever"), picture.NotAnImage},
		"an SVG":         {[]byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), picture.Unsupported},
		"a HEIC":         {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1"), picture.Unsupported},
		"an icon":        {[]byte("\x00\x00\x01\x00\x01\x00\x10\x10\x00\x00\x01\x00\x20\x00"), picture.Unsupported},
		"cut PNG":        {img[:len(img)/2], picture.Corrupt},
		"cut JPEG":       {photo[:len(photo)/2], picture.Corrupt},
		"only a header":  {img[:8], picture.Corrupt},
		"PNG bomb":       {huge, picture.TooLarge},
		"GIF bomb":       {bomb, picture.TooLarge},
		"animated WebP":  {[]byte("RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"), picture.Unsupported},
		"damaged WebP":   {fromBase64(webpPixel)[:20], picture.Corrupt},
		"damaged TIFF":   {[]byte("II*\x00\xff\xff\xff\x7f"), picture.Corrupt},
		"damaged bitmap": {asBMP(smooth(9, 9))[:60], picture.Corrupt},
	}
	for name, tt := range tests {
		_, _, err := picture.Fit(tt.data, picture.Strictest())
		var e *picture.Error
		if !errors.As(err, &e) || e.Reason != tt.want || !strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%s: %v, want an error for the reason %s", name, err, tt.want)
		}
	}
	if _, _, err := picture.Fit(img, picture.Limits{Bytes: 10}); err == nil {
		t.Error("an image fits into ten bytes")
	}
}

func TestFit_HEICGoesToWhoReadsIt(t *testing.T) {
	data := []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1")
	if _, mime, err := picture.Fit(data, picture.For("gemini")); err != nil || mime != picture.HEIC {
		t.Errorf("%s, %v", mime, err)
	}
}

func TestLimits_StrictestFitsAllProviders(t *testing.T) {
	s := picture.Strictest()
	if s.Side != 2000 || s.Base64 == 0 || s.Bytes == 0 || !slices.Equal(s.Formats, []string{picture.JPEG, picture.PNG}) {
		t.Errorf("the strictest limits are %+v", s)
	}
	for _, name := range []string{"anthropic", "openai", "gemini", "chat", "unheard of"} {
		l := picture.For(name)
		over := func(strict, limit int) bool { return limit > 0 && strict > limit }
		if over(s.Side, l.Side) || over(s.Bytes, l.Bytes) || over(s.Base64, l.Base64) {
			t.Errorf("%+v is not within %+v of %s", s, l, name)
		}
		for _, f := range s.Formats {
			if !slices.Contains(l.Formats, f) {
				t.Errorf("%s does not take %s", name, f)
			}
		}
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
		l := picture.Limits{Side: int(side), Bytes: int(size)}
		out, mime, err := picture.Fit(data, l)
		if err != nil {
			var e *picture.Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("the error is %#v", err)
			}
			return
		}
		check(t, out, mime, l)
	})
}
