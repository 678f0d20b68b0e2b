package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotNoted: a limit that can't be noted is not written, and isn't told as held either; what was held before goes on being.
func TestNotNoted(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	held := filepath.Join(b.opt.Run, "journal", containerKind)
	away := held + ".away"
	// It fails like a full disk, for whoever is root too.
	fails := func() {
		t.Helper()
		if err := errors.Join(os.MkdirAll(held, 0o700), os.Rename(held, away), os.WriteFile(held, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	works := func() {
		t.Helper()
		if err := errors.Join(os.Remove(held), os.Rename(away, held)); err != nil {
			t.Fatal(err)
		}
	}
	// told is what the state says of the group: its limit, and whether it has a fault.
	told := func() (value string, fault bool) {
		for _, c := range b.k.Status().Containers {
			for _, h := range c.Held {
				value += h.Value
			}
			fault = fault || len(c.Faults) > 0
		}
		return value, fault
	}
	expect := func(value, kernel string, fault bool) {
		t.Helper()
		eventually(t, "the state and the kernel say "+value, func() bool {
			v, f := told()
			return v == value && f == fault && rate(base(b.group), b.number) == kernel
		})
	}
	fails()
	b.k.Started(targetOf(b.group))
	eventually(t, "the fault is told", func() bool { _, fault := told(); return fault })
	expect("", "", true)
	works()
	b.k.Reload()
	expect("1MiB", "1048576", false)
	fails()
	b.write(b.text(strings.Replace(oneRule, "1MiB", "2MiB", 1)))
	b.k.Reload()
	eventually(t, "the fault is told", func() bool { _, fault := told(); return fault })
	expect("1MiB", "1048576", true)
	works()
	b.k.Reload()
	expect("2MiB", "2097152", false)
}
