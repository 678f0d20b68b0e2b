package luks

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A Header is that of an encrypted file or device.
type Header struct {
	UUID string
	// Data is where the data begins, in bytes. It ends with the device.
	Data int64
}

// Sizes of the format: the binary header, and the most that the JSON behind it has.
const (
	binarySize = 4096
	jsonMost   = 4 << 20
)

// ReadHeader reads a header; found is false if there is none. It is not verified, which cryptsetup does.
func ReadHeader(r io.ReaderAt) (h Header, found bool, err error) {
	b := make([]byte, binarySize)
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return h, false, err
	}
	if string(b[:6]) != "LUKS\xba\xbe" {
		return h, false, nil
	}
	if version := binary.BigEndian.Uint16(b[6:]); version != 2 {
		return h, true, fmt.Errorf("it is encrypted with version %d of LUKS: Plimsoll uses version 2", version)
	}
	size := int64(binary.BigEndian.Uint64(b[8:]))
	if size <= binarySize || size > jsonMost {
		return h, true, errors.New("its LUKS header is damaged")
	}
	text := make([]byte, size-binarySize)
	if _, err := r.ReadAt(text, binarySize); err != nil {
		return h, true, fmt.Errorf("read its LUKS header: %w", err)
	}
	var meta struct {
		Segments map[string]struct {
			Offset string `json:"offset"`
		} `json:"segments"`
	}
	end := bytes.IndexByte(text, 0)
	if end < 0 {
		end = len(text)
	}
	if err := json.Unmarshal(text[:end], &meta); err != nil {
		return h, true, fmt.Errorf("its LUKS header is damaged: %w", err)
	}
	if h.Data, err = strconv.ParseInt(meta.Segments["0"].Offset, 10, 64); err != nil || h.Data <= 0 {
		return h, true, errors.New("its LUKS header is damaged: it doesn't say where the data begins")
	}
	uuid, _, _ := bytes.Cut(b[168:208], []byte{0})
	h.UUID = string(uuid)
	return h, true, nil
}
