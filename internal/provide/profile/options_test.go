package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/text/usage"
)

func TestFromOptionsRefuses(t *testing.T) {
	store := In(t.TempDir())
	var sheet golden.Sheet
	for _, options := range []map[string]string{
		{"profile": "GLOD"},
		{"profile": ""},
		{"profile": "GOLD", "Profile": "SILVER"},
		{"interval": "30", "snapshot": "none"},
		{"profle": "GOLD"},
		{"iopsmx": "5"},
		{"something": "5"},
		{"": "5"},
		{"capacity": ""},
		{"capacity": "1e30"},
		{"capacity": "0"},
		{"capacity": "20G"},
		{"iops": "100"},
		{"iops": "5000,100"},
		{"profile": "GOLD", "iopsmax": "500"},
		{"iopsmin": "5", "iopsMax": "x"},
		{"iopsmin": "100", "iops.min": "100"},
		{"service": "yes"},
		{"interval": "30"},
		{"snapshot": "maybe"},
		{"level": "9"},
		{"optional": "iops"},
		{"encryption": "SECRET"},
		{"encryption.key": "SECRET"},
		{"encryption": "yes", "encryption.key_file": "SECRET"},
		{"encryption": "yes", "key": "SECRET"},
		{"labels": "=x"},
	} {
		p, err := store.FromOptions(options)
		if p != nil || !usage.Is(err) {
			t.Errorf("FromOptions(%v) = %v, %v, want a usage error", options, p, err)
			continue
		}
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("FromOptions(%v) repeats what may be a key: %v", options, err)
		}
		sheet.Add(options, err)
	}
	sheet.Check(t, "options-refused.txt")
}

func TestFromOptions(t *testing.T) {
	store := In(t.TempDir())
	gold, err := store.Lookup("gold")
	if err != nil || gold.Name != "GOLD" {
		t.Fatalf("Lookup(gold) = %v, %v", gold, err)
	}
	for _, tt := range []struct {
		options map[string]string
		change  func(*Profile)
	}{
		{map[string]string{}, func(*Profile) {}},
		{map[string]string{"capacity": "30GB", "iopsmax": "5000"}, func(p *Profile) { p.Capacity, p.IOPS.Max = 30e9, 5000 }},
		{map[string]string{"iops": "20,30", "bandwidthMax": "7"}, func(p *Profile) { p.IOPS, p.Bandwidth = Range{20, 30}, Range{0, 7e6} }},
		{map[string]string{"iops": "none", "type": "none", "service.compression": "none"}, func(p *Profile) {
			p.IOPS, p.Type, p.Service.Compression = Range{}, "", Compression{}
		}},
		{map[string]string{"iops.max": "none", "node": "none"}, func(p *Profile) { p.IOPS.Max = 0 }},
		// The profile's own settings of a service that it has switched off are used.
		{map[string]string{"compression": "yes"}, func(p *Profile) { p.Service.Compression.Enabled = true }},
		{map[string]string{"snapshot": "yes", "interval": "15"}, func(p *Profile) { p.Service.Snapshot = Snapshot{true, 15, 10} }},
		{map[string]string{"label": "a=b", "node": "42", "optional": "level,shared"}, func(p *Profile) {
			p.Labels, p.Node, p.Optional = map[string]string{"a": "b"}, "42", []string{"level", "shared"}
		}},
		{map[string]string{"encryption": "yes", "encryption.key_file": "/k"}, func(p *Profile) { p.Service.Encryption = Encryption{true, "/k", ""} }},
	} {
		tt.options["Profile"] = "Gold"
		want := *gold
		tt.change(&want)
		got, err := store.FromOptions(tt.options)
		if err != nil {
			t.Errorf("FromOptions(%v): %v", tt.options, err)
			continue
		}
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("FromOptions(%v) (-want +got):\n%s", tt.options, d)
		}
		checkRoundTrip(t, got)
	}
	// Options have no order.
	if p, err := gold.With(map[string]string{"iops": "none", "iops-max": "500", "Level": "none"}); err != nil || p.IOPS != (Range{0, 500}) || p.Level != 0 || gold.IOPS.Min != 1000 {
		t.Errorf("With(iops=none, iops-max=500) = %+v, %v, of %+v", p, err, gold)
	}
	// The one-liner that names no profile.
	if p, err := store.FromOptions(map[string]string{"capacity": "20GiB"}); err != nil || p.Name != Default || p.Capacity != 20<<30 {
		t.Errorf("FromOptions(capacity=20GiB) = %+v, %v", p, err)
	}
}

// FuzzOptions checks that no option panics or prints what may be a key, and that what is accepted survives Marshal.
func FuzzOptions(f *testing.F) {
	for _, seed := range [][4]string{{"iops", "100,5000", "iopsmax", "7"}, {"snapshot", "yes", "interval", "30"}, {"labels", "a=b,c", "optional", "level,"},
		{"encryption", "yes", "encryption.key_file", "/k"}, {"compression", "lzo", "service", "x"}, {"none", "none", "iops", "none"}} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	store := In(f.TempDir())
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		options := map[string]string{k1: v1, k2: v2}
		fuzztest.Bounded(t, options, func() {
			p, err := store.FromOptions(options)
			if err != nil {
				if p != nil || !usage.Is(err) || err.Error() == "" {
					t.Fatalf("FromOptions(%q) = %v, %v", options, p, err)
				}
				return
			}
			checkRoundTrip(t, p)
		})
	})
}
