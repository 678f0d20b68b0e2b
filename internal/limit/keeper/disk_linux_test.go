package keeper

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadNow: what is there is read without waiting, and nothing of another file that has the descriptor of one that was closed.
func TestReadNow(t *testing.T) {
	pipe := func() (int, int) {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return p[0], p[1]
	}
	fd, in := pipe()
	defer unix.Close(in)
	file := os.NewFile(uintptr(fd), "pipe")
	buf := make([]byte, 8)
	if n := readNow(file, buf); n > 0 {
		t.Errorf("%d bytes of an empty file", n)
	}
	if _, err := unix.Write(in, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if n := readNow(file, buf); n != 3 {
		t.Errorf("%d bytes, want 3", n)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	other, to := pipe()
	defer unix.Close(to)
	if other != fd {
		if err := unix.Dup3(other, fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		unix.Close(other)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(to, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if n := readNow(file, buf); n > 0 {
		t.Errorf("%d bytes of another's file: %q", n, buf[:n])
	}
}
