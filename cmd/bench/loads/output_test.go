package loads

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestDutyTable: the median is what is judged.
func TestDutyTable(t *testing.T) {
	ms := func(all ...time.Duration) (out []time.Duration) {
		for _, d := range all {
			out = append(out, d*time.Millisecond)
		}
		return out
	}
	var out bytes.Buffer
	if err := dutyTable(&out, []duty{{"kept", 10 * time.Millisecond, ms(10, 99, 1)}, {"not kept", 50 * time.Millisecond, ms(51)}}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"kept 10.0 [1.0..99.0] <= 10 met", "not kept 51.0 [51.0..51.0] <= 50 MISSED"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestDuties: the work is that of a large run, and its time is near the goal or below it. Far above, something has
// become slow by its nature and not by the machine.
func TestDuties(t *testing.T) {
	var talk bytes.Buffer
	all, err := duties(t.Context(), 3, &talk)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if took, size, err := measureJSONPlus(t.Context(), &talk); err != nil || size < 5e5 {
		t.Errorf("%d bytes in %v, %v: no full histograms", size, took, err)
	}
	for _, d := range all {
		if best := min(d.took[0], d.took[1], d.took[2]); best <= 0 || best > 20*d.most {
			t.Errorf("%s took %v, the goal is %v", d.name, d.took, d.most)
		}
		t.Logf("%s: %v", d.name, d.took)
	}
}
