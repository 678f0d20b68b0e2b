package explain

import (
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
)

// TestKernelBcache holds what is said of a cache before a disk against the kernel of make test-guest: small writes are taken by the cache, larger ones go past
// it, and how much of either is charged beneath nobody can know before.
func TestKernelBcache(t *testing.T) {
	for _, mode := range []string{"writethrough", "writeback"} {
		t.Run(mode, func(t *testing.T) {
			m := newMeter(t)
			e := m.checkBeneath(t, disktest.Bcache(t, mode, bare(t), bare(t)))
			top := e.Tree.Below[0]
			if top.Kind != device.KindBcache || top.CacheMode != mode {
				t.Fatalf("%s in mode %q, want bcache in mode %q", top.Kind, top.CacheMode, mode)
			}
			if !top.Limit || top.Device.MQ {
				t.Fatalf("limit %v, queues %v; want a hard limit on a device without queues", top.Limit, top.Device.MQ)
			}
			if len(top.Below) != 2 {
				t.Fatalf("below are %+v, want two disks", top.Below)
			}
			for _, l := range top.Below {
				if l.Charge != Partly || !strings.Contains(l.Lost, "bcache") {
					t.Errorf("%s is charged %s (%s), want partly", l.Name, l.Charge, l.Lost)
				}
			}
			if top.Device.MaxIO > 1<<30 {
				t.Errorf("an I/O may have %d bytes", top.Device.MaxIO)
			}
		})
	}
}
