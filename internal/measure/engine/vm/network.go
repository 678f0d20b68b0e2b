package vm

import "fmt"

// Addresses of a machine's network, which QEMU makes up: it leads to the daemons of the shares and nowhere else.
const (
	guestAddress = "10.0.2.15"
	guestPrefix  = "/24"
)

// serverAddresses are those of the daemons, by place.
var serverAddresses = []string{"10.0.2.100", "10.0.2.101"}

// network gives the machine a network in which p's socket is the first connection to a port of p's server.
func (s *session) network(p *placeDevice, port uint16) {
	p.args = []string{"-chardev", fmt.Sprintf("socket,id=%s,fd=%d", p.share(), s.socketFD(p))}
	p.forward = fmt.Sprintf(",guestfwd=tcp:%s:%d-chardev:%s", p.server, port, p.share())
	s.setup.Address = guestAddress + guestPrefix
}
