package load

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
)

// Peers of a job (Job.Peer).
const (
	PeerZero   = "/dev/zero"
	PeerRandom = "/dev/urandom"
	PeerNull   = "/dev/null"
)

// A peer is the other end of a copy.
type peer struct {
	from io.Reader
	to   io.Writer
	file *os.File // nil if the system has no such device
}

// openPeer opens a peer, or returns nil for an empty name. Windows has none of these devices. Its programs of that kind
// generate the data themselves: zeros, the system's random numbers, or nothing.
func openPeer(name string) (*peer, error) {
	switch {
	case name == "":
		return nil, nil
	case runtime.GOOS == "windows":
		return &peer{from: map[string]io.Reader{PeerZero: noughts{}, PeerRandom: rand.Reader}[name], to: io.Discard}, nil
	}
	mode := os.O_RDONLY
	if name == PeerNull {
		mode = os.O_WRONLY
	}
	f, err := os.OpenFile(name, mode, 0)
	if err != nil {
		return nil, err
	}
	return &peer{from: f, to: f, file: f}, nil
}

func (p *peer) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// meet moves the data of an I/O between its buffer and the peer, and counts the time.
func (t *thread) meet(sl *slot) error {
	begin := t.run.clk.now()
	data, op := t.bufs.data(sl.seg, int64(sl.size)), "read"
	var err error
	if sl.op == opWrite {
		_, err = io.ReadFull(t.peer.from, data)
	} else {
		op = "write"
		_, err = t.peer.to.Write(data)
	}
	t.acct.atPeer += t.run.clk.now() - begin
	if err == nil {
		return nil
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	return &IOError{Path: t.run.job.Peer, Op: op, Err: err}
}

// noughts reads as /dev/zero does.
type noughts struct{}

// Read implements io.Reader.
func (noughts) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
