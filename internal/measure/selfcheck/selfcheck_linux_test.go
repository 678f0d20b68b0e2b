package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/leaktest"
	"plimsoll/load"
)

// TestMain makes the test binary serve as Ours' child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "selfcheck-child" {
		if err := Child(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestAgreesOnALimitedDevice: with the real fio and a real limit both measure the limit.
func TestAgreesOnALimitedDevice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a loop device and a control group")
	}
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("needs fio")
	}
	dir := t.TempDir()
	leaktest.Check(t, dir)
	file := filepath.Join(dir, "file")
	if _, err := load.Layout(t.Context(), file, 64<<20, load.LayoutOptions{}); err != nil {
		t.Fatal(err)
	}
	l, err := NewLimited(file, fmt.Sprintf("plimsoll-test-selfcheck-%d", os.Getpid()), 400)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	// Three seconds: fio counts what is in flight at the window's end, and in one second at this
	// limit that alone makes its mean 7 % longer.
	job := load.Job{RW: load.RandRead, BS: 4096, IODepth: 8, Filename: l.Device, Size: 64 << 20, Direct: true, Runtime: 3 * time.Second, RampTime: 200 * time.Millisecond, IOEngine: load.LinuxAIO}
	cases := []Case{{Name: "limited", Job: job, Limited: true}}
	figures, err := Run(t.Context(), cases, Ours([]string{os.Args[0], "selfcheck-child"}, l.Wrap), Fio(fio, l.Wrap), 3, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		if f.Fault {
			t.Errorf("%+v: a difference on a limited device", f)
		}
	}
	// The limit is what both saw: far under what the device could do.
	f := figures[0]
	if f.Name != "IOPS" {
		t.Errorf("the first figure is %s", f.Name)
	}
	for by, n := range map[string]float64{"ours": f.Ours, "fio": f.Fio} {
		if n < 300 || n > 500 {
			t.Errorf("%.0f by %s, want about 400", n, by)
		}
	}
}

// fixed is a Program that always measures the same, and a little more in each round.
func fixed(r Reading) Program {
	n := 0.0
	return func(context.Context, Case) (Reading, error) {
		n++
		f := 1 + n/1000
		return Reading{r.IOPS * f, r.Mean * f, r.P99 * f, r.CPU * f}, nil
	}
}

func TestFaultIsADifferenceOnALimitedDevice(t *testing.T) {
	one := Reading{1000, 1e6, 2e6, 5000}
	off := Reading{800, 1.3e6, 4e6, 9000}
	for _, c := range []struct {
		limited bool
		fio     Reading
		want    []string
	}{
		{true, one, nil},
		{true, off, []string{"IOPS", "mean", "p99"}},
		{true, Reading{1000, 1e6, 2.2e6, 9000}, []string{"p99"}},
		{false, off, nil},
	} {
		figures, err := Run(context.Background(), []Case{{Name: "c", Limited: c.limited}}, fixed(one), fixed(c.fio), 6, 7, nil)
		if err != nil {
			t.Fatal(err)
		}
		var faults []string
		for _, f := range figures {
			if f.Fault {
				faults = append(faults, f.Name)
			}
		}
		if !slices.Equal(faults, c.want) || len(figures) != 4 {
			t.Errorf("limited %v, fio %+v: faults %v, want %v in %+v", c.limited, c.fio, faults, c.want, figures)
		}
	}
}

func TestOrderIsInterleaved(t *testing.T) {
	var order []string
	note := func(name string) Program {
		return func(context.Context, Case) (Reading, error) {
			order = append(order, name)
			return Reading{1, 1, 1, 1}, nil
		}
	}
	if _, err := Run(context.Background(), make([]Case, 3), note("a"), note("b"), 8, 3, nil); err != nil {
		t.Fatal(err)
	}
	if len(order) != 48 {
		t.Fatalf("%d measurements", len(order))
	}
	firsts := map[string]int{}
	for round := range 8 {
		in := order[round*6 : round*6+6]
		if n := strings.Count(strings.Join(in, ""), "a"); n != 3 {
			t.Errorf("round %d has %d of a", round, n)
		}
		firsts[in[0]]++
	}
	if firsts["a"] == 0 || firsts["b"] == 0 {
		t.Errorf("the same program always came first: %v", order)
	}
}

func TestProgramsTellWhatFailed(t *testing.T) {
	fails := func(context.Context, Case) (Reading, error) { return Reading{}, errors.New("no such file") }
	_, err := Run(context.Background(), []Case{{Name: "c"}}, fails, fails, 1, 0, nil)
	if err == nil || !strings.Contains(err.Error(), "c, ") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("err = %v", err)
	}
	_, err = Ours([]string{os.Args[0], "selfcheck-child"}, nil)(t.Context(), Case{Job: load.Job{RW: load.Read, Filename: "/nonexistent/f"}})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/f") {
		t.Errorf("err = %v, want the file's name", err)
	}
}
