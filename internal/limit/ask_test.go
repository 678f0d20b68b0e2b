package limit

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/texttest"

	"github.com/google/go-cmp/cmp"
)

// refused are values with what the error has to say: what is wrong, and what to write.
var refused = []struct {
	key  Key
	text string
	want []string
}{
	{ReadBPS, "", []string{"read_bps: is empty", "write 2 to 1PiB, such as 10MiB, or none"}},
	{ReadBPS, "0", []string{"0 is not a limit, and does not remove one", "none for no limit"}},
	{ReadBPS, "1", []string{"1 is too little", "version 2 of cgroups refuses 0 and 1", "write 2 to"}},
	{ReadBPS, "-1", []string{"-1 is negative", "none for no limit"}},
	{ReadBPS, "-10MiB", []string{"is negative"}},
	{WriteBPS, "18446744073709551615", []string{"18446744073709551615 is too much", "2 to 1PiB", "none for no limit"}},
	{WriteBPS, "9223372036854775807", []string{"is too much", "none for no limit"}},
	{WriteBPS, "8EiB", []string{"too large"}},
	{WriteBPS, "2PiB", []string{"2PiB is too much"}},
	{WriteBPS, "10mb", []string{`"10mb" reads as bits`, "10MiB or 10MB"}},
	{WriteBPS, "10Mb/s", []string{"reads as bits"}},
	{WriteBPS, "10M", []string{`"10M" is ambiguous`, "10MiB for 10485760 bytes or 10MB for 10000000 bytes"}},
	{WriteBPS, "10 apples", []string{"no unit of bytes"}},
	{WriteBPS, "1.5", []string{"not a whole number of bytes"}},
	{WriteBPS, "unlimited", []string{"is not a limit: write none to remove it"}},
	{WriteBPS, "0%", []string{`"0%" is not a percentage`}},
	{WriteBPS, "-5%", []string{"is not a percentage"}},
	{WriteBPS, "NaN%", []string{"is not a percentage"}},
	{WriteBPS, "1e1%", []string{"is not a percentage"}},
	{WriteBPS, "%", []string{"is not a percentage"}},
	{WriteBPS, "101%", []string{"more than the device can do", "at most 100%"}},
	{ReadIOPS, "0", []string{"none for no limit"}},
	{ReadIOPS, "1", []string{"1 is too little", "refuses 0 and 1"}},
	{ReadIOPS, "4294967295", []string{"4294967295 is too much", "32 bits", "write 2 to 4294967294, such as 500"}},
	{ReadIOPS, "4294967296", []string{"is too much", "32 bits"}},
	{ReadIOPS, "18446744073709551615", []string{"is too much", "32 bits"}},
	{ReadIOPS, "-7", []string{"is negative"}},
	{ReadIOPS, "10k", []string{`"10k" is not a whole number (10000?)`}},
	{ReadIOPS, "10MiB", []string{"is not a whole number: write 2 to 4294967294"}},
	{ReadIOPS, "1.5", []string{"is not a whole number"}},
	{ReadIOPS, "0x10", []string{"is not a whole number"}},
	{ReadIOPS, "+5", []string{"is not a whole number"}},
	{Weight, "0", []string{"write 1 to 10000"}},
	{Weight, "10001", []string{"too much", "write 1 to 10000, such as 200"}},
	{Weight, "50%", []string{"only rates can have one", "1 to 10000"}},
	{Weight, "high", []string{"not a whole number"}},
	{Latency, "0", []string{"1µs to 10s, such as 5ms, or none"}},
	{Latency, "5", []string{"has no unit", "5ms"}},
	{Latency, "11s", []string{"too much"}},
	{Latency, "100ns", []string{"too little"}},
	{Latency, "1500ns", []string{"not a whole number of microseconds", "write 1µs"}},
	{Latency, "-5ms", []string{"is negative"}},
	{Memory, "0", []string{"6MiB to 1PiB, such as 4GiB"}},
	{Memory, "4G", []string{"ambiguous"}},
	{Memory, "1MiB", []string{"1MiB is too little", "no container starts", "6MiB"}},
	{Memory, "-1", []string{"is negative", "none for no limit"}},
	{Memory, "25%", []string{"only rates can have one"}},
	{CPUs, "0", []string{"0.01 to 4096"}},
	{CPUs, "0.001", []string{"0.001 is too little"}},
	{CPUs, "5000", []string{"too much"}},
	{CPUs, "150%", []string{"only rates can have one", "such as 1.5"}},
	{CPUs, "1500m", []string{"is not a number of CPUs"}},
	{CPUs, "NaN", []string{"is not a number of CPUs"}},
	{CPUs, "1e2", []string{"is not a number of CPUs"}},
	{CPUs, "-1", []string{"is negative"}},
	{CPUShares, "1", []string{"1 is too little", "write 2 to 262144, such as 512"}},
	{CPUShares, "262145", []string{"too much"}},
	{"read_bsp", "1", []string{"did you mean read_bps?"}},
	{"name", "1", []string{`"name" is not a kind of limit`}},
}

func TestAskRefuses(t *testing.T) {
	for _, tt := range refused {
		var a Ask
		err := a.Set(tt.key, tt.text)
		if err == nil || !a.IsZero() {
			t.Errorf("Set(%s, %q) = %v, asks for %+v", tt.key, tt.text, err, a)
			continue
		}
		texttest.Has(t, err.Error(), tt.want, tt.key, tt.text)
	}
}

func TestAsk(t *testing.T) {
	var a Ask
	for _, kv := range []struct {
		key  Key
		text string
	}{
		{ReadBPS, "10MiB/s"}, {WriteBPS, "25%"}, {ReadIOPS, "4294967294"}, {WriteIOPS, "12.5 %"}, {Weight, "10000"}, {Latency, "5ms"},
		{CPUs, "1.5"}, {CPUShares, "none"}, {Memory, "max"},
	} {
		if err := a.Set(kv.key, kv.text); err != nil {
			t.Fatal(err)
		}
		if err := a.Set(kv.key, kv.text); err == nil || !strings.Contains(err.Error(), "given twice") {
			t.Errorf("%s twice: %v", kv.key, err)
		}
	}
	want := Ask{
		Limits:  Limits{ReadBPS: 10 << 20, ReadIOPS: MaxIOPS, Weight: 10000, Latency: 5 * time.Millisecond, CPUs: 1.5},
		Percent: map[Key]float64{WriteBPS: 25, WriteIOPS: 12.5}, Remove: []Key{CPUShares, Memory},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Fatal(diff)
	}
	c, err := a.Resolve(Limits{WriteBPS: 1001, WriteIOPS: 8000})
	if err != nil {
		t.Fatal(err)
	}
	set := a.Limits
	set.WriteBPS, set.WriteIOPS = 250, 1000
	if diff := cmp.Diff(Change{Set: set, Remove: []Key{CPUShares, Memory}}, c); diff != "" {
		t.Error(diff)
	}
	for k, touched := range map[Key]bool{ReadBPS: true, WriteBPS: true, Memory: true} {
		if c.Touches(k) != touched {
			t.Errorf("Touches(%s) = %v", k, !touched)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	a := Ask{Percent: map[Key]float64{WriteIOPS: 1, ReadBPS: 50}}
	if _, err := a.Resolve(Limits{WriteIOPS: 1000}); !errors.Is(err, ErrNoCeiling) || !strings.Contains(err.Error(), "read_bps: 50%") {
		t.Errorf("without a ceiling: %v", err)
	}
	if _, err := a.Resolve(Limits{WriteIOPS: 150, ReadBPS: 1 << 30}); err == nil || !strings.Contains(err.Error(), "write_iops: 1% of 150 is 1 a second") {
		t.Errorf("percentage of little: %v", err)
	}
	for name, c := range map[string]Change{
		"set and removed": {Set: Limits{Memory: 1 << 30}, Remove: []Key{Memory}},
		"unknown key":     {Remove: []Key{"memory_bytes"}},
		"1 byte a second": {Set: Limits{ReadBPS: 1}},
		"beyond 32 bits":  {Set: Limits{ReadIOPS: 1 << 32}},
		"negative":        {Set: Limits{WriteIOPS: -1}},
		"NaN":             {Set: Limits{CPUs: math.NaN()}},
	} {
		if err := c.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := Clear().Check(); err != nil || len(Clear().Remove) != len(Keys) {
		t.Errorf("Clear() = %v, %v", Clear(), err)
	}
	if c := Clear(ReadBPS); c.Touches(WriteBPS) || !c.Touches(ReadBPS) {
		t.Errorf("Clear(read_bps) = %v", c)
	}
}

// FuzzAsk: what is accepted is within bounds, and its text is read back as the same.
func FuzzAsk(f *testing.F) {
	for _, tt := range refused {
		f.Add(string(tt.key), tt.text)
	}
	f.Add("write_bps", "25%")
	f.Add("memory", "none")
	f.Add("latency", "1.5ms")
	f.Fuzz(func(t *testing.T, key, text string) {
		var a Ask
		if a.Set(Key(key), text) != nil {
			return
		}
		if a.IsZero() {
			t.Fatalf("Set(%s, %q) asks for nothing", key, text)
		}
		if err := a.Limits.Check(); err != nil {
			t.Fatalf("Set(%s, %q): %v", key, text, err)
		}
		if !a.Limits.Has(Key(key)) {
			return
		}
		var b Ask
		if err := b.Set(Key(key), a.Limits.Text(Key(key))); err != nil || b.Limits != a.Limits {
			t.Fatalf("Set(%s, %q) is %+v, read back as %+v, %v", key, text, a.Limits, b.Limits, err)
		}
	})
}
