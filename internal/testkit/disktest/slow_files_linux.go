package disktest

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// name is a string of the protocol.
func name(in []byte) string {
	n, _, _ := cutName(in)
	return n
}

func cutName(in []byte) (string, []byte, bool) {
	for i, b := range in {
		if b == 0 {
			return string(in[:i]), in[i+1:], true
		}
	}
	return string(in), nil, false
}

// path is the path of a node's data.
func (s *SlowFS) path(node uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.paths[node]; filepath.IsAbs(p) {
		return p
	}
	return s.Back
}

// entry is the answer to a lookup. The kernel caches nothing, because a file that is removed and made again is another one.
func (s *SlowFS) entry(path string) ([]byte, error) {
	attr, err := s.attr(path)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[path]
	if !ok {
		id = uint64(len(s.ids) + 1)
		s.ids[path], s.paths[id] = id, path
	}
	out := make([]byte, 40, 128)
	binary.NativeEndian.PutUint64(out, id)
	return append(out, attr[16:]...), nil
}

// attr is the answer to a getattr.
func (s *SlowFS) attr(path string) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, err
	}
	e := binary.NativeEndian
	out := make([]byte, 104)
	for i, v := range []uint64{st.Ino, uint64(st.Size), uint64(st.Blocks), uint64(st.Atim.Sec), uint64(st.Mtim.Sec), uint64(st.Ctim.Sec)} {
		e.PutUint64(out[16+8*i:], v)
	}
	for i, v := range []uint32{uint32(st.Atim.Nsec), uint32(st.Mtim.Nsec), uint32(st.Ctim.Nsec), st.Mode, uint32(st.Nlink), st.Uid, st.Gid, 0, 4096} {
		e.PutUint32(out[64+4*i:], v)
	}
	return out, nil
}

// open is the answer to an open. By default the page cache is bypassed, and writes don't wait for each other.
func (s *SlowFS) open(path string, flags int) []byte {
	if flags&os.O_TRUNC != 0 {
		_ = os.Truncate(path, 0)
	}
	const direct, parallelWrites = 1, 1 << 6
	out := make([]byte, 16)
	binary.NativeEndian.PutUint64(out, uint64(s.files.Add(1)))
	if !s.cached {
		binary.NativeEndian.PutUint32(out[8:], direct|parallelWrites)
	}
	return out
}

func (s *SlowFS) read(path string, off int64, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := make([]byte, n)
	n, err = f.ReadAt(out, off)
	if n == 0 && err != nil && err.Error() != "EOF" {
		return nil, err
	}
	if s.besides != nil {
		return out[:n], s.besides.read(path, out[:n], off)
	}
	return out[:n], nil
}

// list is the answer to a readdir, from entry number from on.
func (s *SlowFS) list(path string, from uint64, n int) ([]byte, error) {
	all, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	e := binary.NativeEndian
	var out []byte
	for i := from; i < uint64(len(all)); i++ {
		text := all[i].Name()
		d := make([]byte, (24+len(text)+7)&^7)
		e.PutUint64(d[0:], i+1)
		e.PutUint64(d[8:], i+1)
		e.PutUint32(d[16:], uint32(len(text)))
		if all[i].IsDir() {
			e.PutUint32(d[20:], unix.DT_DIR)
		} else {
			e.PutUint32(d[20:], unix.DT_REG)
		}
		copy(d[24:], text)
		if len(out)+len(d) > n {
			break
		}
		out = append(out, d...)
	}
	return out, nil
}
