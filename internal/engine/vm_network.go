package engine

import "fmt"

// Addresses of a machine's network, which QEMU makes up: it leads to the share's daemon and nowhere else.
const (
	guestAddress  = "10.0.2.15"
	guestPrefix   = "/24"
	serverAddress = "10.0.2.100"
)

// network gives the machine a network in which p's socket is the first connection to a port of serverAddress.
func (p *vmPlace) network(port uint16) {
	p.args = []string{
		"-chardev", fmt.Sprintf("socket,id=share,fd=%d", shareFD),
		"-netdev", fmt.Sprintf("user,id=net,ipv6=off,restrict=on,guestfwd=tcp:%s:%d-chardev:share", serverAddress, port),
		"-device", "virtio-net-pci,netdev=net,romfile=",
	}
	p.setup.Address = guestAddress + guestPrefix
}
