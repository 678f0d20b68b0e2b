package vm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
)

// maxStrangers is how many other clients may connect first before connectionPair gives up.
const maxStrangers = 100

// connectionPair returns the two ends of a TCP connection within this machine, for a server whose client needs an address
// (else a socket pair would do). The listening socket is closed when it returns, and served no other client.
func connectionPair() (served, connected *os.File, err error) {
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	// The kernel completes the connection before it is accepted.
	client, err := net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	for range maxStrangers {
		server, err := l.AcceptTCP()
		if err != nil {
			return nil, nil, err
		}
		if server.RemoteAddr().String() != client.LocalAddr().String() {
			server.Close()
			continue
		}
		defer server.Close()
		if served, err = server.File(); err != nil {
			return nil, nil, err
		}
		if connected, err = client.File(); err != nil {
			return nil, nil, errors.Join(err, served.Close())
		}
		return served, connected, nil
	}
	return nil, nil, fmt.Errorf("%d others connected to %s", maxStrangers, l.Addr())
}
