package worker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// guestInterface is the name of a machine's only network device.
const guestInterface = "eth0"

// setAddress gives the machine's network device its address, and turns it on. Its driver may have been loaded just now.
func setAddress(address string) error {
	p, err := netip.ParsePrefix(address)
	if err != nil {
		return err
	}
	if !p.Addr().Is4() {
		return fmt.Errorf("%s is not an IPv4 address", p.Addr())
	}
	if err := awaitFile("/sys/class/net/" + guestInterface); err != nil {
		return fmt.Errorf("the machine has no network interface: %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, set := range []struct {
		what    string
		request uint
		value   []byte
	}{
		{"address", unix.SIOCSIFADDR, p.Addr().AsSlice()},
		{"netmask", unix.SIOCSIFNETMASK, net.CIDRMask(p.Bits(), 32)},
	} {
		r, err := unix.NewIfreq(guestInterface)
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(set.value); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, set.request, r); err != nil {
			return fmt.Errorf("set the %s: %w", set.what, err)
		}
	}
	r, err := unix.NewIfreq(guestInterface)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		return fmt.Errorf("turn it on: %w", err)
	}
	return awaitLink()
}

// awaitLink waits until the device has its carrier, which it has some time after it was turned on: what is sent before is lost.
func awaitLink() error {
	for deadline := time.Now().Add(portPatience); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile("/sys/class/net/" + guestInterface + "/carrier")
		if err == nil && len(b) > 0 && b[0] == '1' {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("it has no carrier"), err)
		}
	}
}
