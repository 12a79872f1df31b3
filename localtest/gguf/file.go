package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// file collects the parts of a version 3 file: metadata, tensor descriptions, data.
type file struct {
	keys, infos, data bytes.Buffer
	nkeys, ntensors   uint64
}

// Types of values in metadata.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

const alignment = 32

// put appends numbers to a buffer, and strings with their length.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			put(b, uint64(len(s)))
			b.WriteString(s)
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // the value has no fixed size
		}
	}
}

// set adds a key to the metadata.
func (f *file) set(key string, value any) {
	f.nkeys++
	put(&f.keys, key)
	switch v := value.(type) {
	case uint32:
		put(&f.keys, uint32(typeUint32), v)
	case float32:
		put(&f.keys, uint32(typeFloat32), v)
	case bool:
		put(&f.keys, uint32(typeBool), v)
	case string:
		put(&f.keys, uint32(typeString), v)
	case []int32:
		put(&f.keys, uint32(typeArray), uint32(typeInt32), uint64(len(v)), v)
	case []string:
		put(&f.keys, uint32(typeArray), uint32(typeString), uint64(len(v)))
		for _, s := range v {
			put(&f.keys, s)
		}
	default:
		panic(fmt.Sprintf("gguf: no type for %T", value))
	}
}

// add adds a tensor of 32-bit floats. The innermost dimension comes first.
func (f *file) add(name string, values []float32, dimensions ...int) {
	f.ntensors++
	put(&f.infos, name, uint32(len(dimensions)))
	for _, d := range dimensions {
		put(&f.infos, uint64(d))
	}
	put(&f.infos, uint32(0), uint64(f.data.Len())) // type and offset
	put(&f.data, values)
	pad(&f.data)
}

func pad(b *bytes.Buffer) { b.Write(make([]byte, -b.Len()&(alignment-1))) }

func (f *file) write(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, uint32(3), f.ntensors, f.nkeys)
	b.Write(f.keys.Bytes())
	b.Write(f.infos.Bytes())
	pad(&b)
	b.Write(f.data.Bytes())
	_, err := w.Write(b.Bytes())
	return err
}
