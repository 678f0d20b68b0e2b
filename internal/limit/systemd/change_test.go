package systemd

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/limit"
)

// TestSharesAreTheGroups: a unit's CPUWeight is what is written to its group for the same shares, so that systemd's next write of it
// changes nothing. systemd cuts off where the kernel and package limit round: 1000 shares were 98 in the file and 97 in the property.
func TestSharesAreTheGroups(t *testing.T) {
	f := &fake{t: t}
	for shares := int64(limit.MinCPUShares); shares <= limit.MaxCPUShares; shares = shares*51/50 + 1 {
		w, _ := limit.CPUWeight(shares)
		want := fmt.Sprintf("set-property --runtime -- web.service CPUWeight=%d", w)
		f.show = ""
		if got, err := f.change(f.systemd(), Change{Set: Properties{CPUShares: uint64(shares)}}); err != nil || got != want {
			t.Fatalf("%d shares: %q, %v, want %q", shares, got, err, want)
		}
		// What is so already isn't set again.
		f.show = fmt.Sprintf("CPUWeight=%d\n", w)
		if got, err := f.change(f.systemd(), Change{Set: Properties{CPUShares: uint64(shares)}}); err != nil || got != "" {
			t.Fatalf("%d shares again: %q, %v", shares, got, err)
		}
	}
	if w, _ := limit.CPUWeight(1000); w != 98 {
		t.Errorf("1000 shares are %d", w)
	}
	// Every weight is restored as it was.
	for w := int64(limit.MinWeight); w <= limit.MaxWeight; w++ {
		f.show = fmt.Sprintf("CPUWeight=%d\n", w)
		e, err := f.systemd().Plan(t.Context(), "web.service", Change{Remove: []limit.Key{limit.CPUShares}})
		if want := fmt.Sprintf("CPUWeight=%d", w); err != nil || strings.Join(e.Was, "|") != want {
			t.Fatalf("a CPUWeight of %d is restored as %q, %v", w, e.Was, err)
		}
	}
}

// TestSwapProperty: what a unit had of swap is restored. MemorySwapMax=512M came back as infinity.
func TestSwapProperty(t *testing.T) {
	for _, x := range []struct {
		show, set, was string
		c              Change
	}{
		{"MemoryMax=1073741824\nMemorySwapMax=536870912\n", "MemoryMax=268435456 MemorySwapMax=0", "MemoryMax=1073741824 MemorySwapMax=536870912", Change{Set: Properties{Memory: 256 << 20, NoSwap: true}}},
		{"MemoryMax=infinity\nMemorySwapMax=536870912\n", "MemoryMax=268435456 MemorySwapMax=0", "MemoryMax=infinity MemorySwapMax=536870912", Change{Set: Properties{Memory: 256 << 20, NoSwap: true}}},
		{"MemoryMax=infinity\nMemorySwapMax=18446744073709551615\n", "MemoryMax=268435456 MemorySwapMax=0", "MemoryMax=infinity MemorySwapMax=infinity", Change{Set: Properties{Memory: 256 << 20, NoSwap: true}}},
		{"MemoryMax=1073741824\nMemorySwapMax=0\n", "MemoryMax=268435456", "MemoryMax=1073741824", Change{Set: Properties{Memory: 256 << 20, NoSwap: true}}},
		// Without a limit on memory there is none on swap, as in the group's files.
		{"MemoryMax=1073741824\nMemorySwapMax=536870912\n", "MemoryMax=infinity MemorySwapMax=infinity", "MemoryMax=1073741824 MemorySwapMax=536870912", Change{Remove: []limit.Key{limit.Memory}}},
	} {
		f := &fake{t: t, show: x.show}
		e, err := f.systemd().Plan(t.Context(), "web.service", x.c)
		if err != nil || strings.Join(e.Set, " ") != x.set || strings.Join(e.Was, " ") != x.was {
			t.Errorf("Plan of %q sets %q and brings back %q, %v; want %q and %q", x.show, e.Set, e.Was, err, x.set, x.was)
		}
	}
}
