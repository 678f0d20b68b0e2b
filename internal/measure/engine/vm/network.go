package vm

import "fmt"

// Addresses in a machine's network, which QEMU emulates: it leads only to the daemons of the shares.
const (
	guestAddress = "10.0.2.15"
	guestPrefix  = "/24"
)

// serverAddresses are those of the daemons, by place.
var serverAddresses = []string{"10.0.2.100", "10.0.2.101"}

// network gives the machine a network in which the first connection to a port of p's server goes to p's socket.
func (s *session) network(p *placeDevice, port uint16) {
	p.args = []string{"-chardev", fmt.Sprintf("socket,id=%s,fd=%d", p.share(), s.socketFD(p))}
	p.forward = fmt.Sprintf(",guestfwd=tcp:%s:%d-chardev:%s", p.server, port, p.share())
	s.setup.Address = guestAddress + guestPrefix
}
