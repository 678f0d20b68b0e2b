package volume

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// TestRoom: guarantees are admitted up to what the disk was measured to carry, by creation and by change.
func TestRoom(t *testing.T) {
	l := newLab(t, disktest.Options{Size: 400 << 20})
	l.Machine = profile.Host{Ceiling: func(string) (int64, error) { return 3000, nil }}
	create := func(name, iops string) error {
		backend, p, err := l.Options(map[string]string{"capacity": "32MiB", "iops.min": iops})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = l.Create(t.Context(), name, backend, p)
		return err
	}
	refused := func(err error, words string) {
		t.Helper()
		if !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want a refusal with %q", err, words)
		}
	}
	refused(create("huge", "3001"), "carries 3,000 as measured, of which 0 are promised")
	for _, name := range []string{"a", "b"} {
		if err := create(name, "1000"); err != nil {
			t.Fatal(err)
		}
	}
	refused(create("c", "1001"), "of which 2,000 are promised to other volumes (ask for 1,000 at most")
	_, err := l.Update(t.Context(), "a", map[string]string{"iops.min": "2001"})
	refused(err, "of which 1,000 are promised")
	v, err := l.Update(t.Context(), "a", map[string]string{"iops.min": "2000"})
	if err != nil {
		t.Fatal(err)
	}
	if room, err := l.Room(v); err != nil || room.String() != "3,000 of 3,000 measured IOPS are provisioned" {
		t.Errorf("Room = %v, %v", room, err)
	}
	if promises, err := l.Promises(v); err != nil || !strings.Contains(promises["iops.min"], "enforced") {
		t.Errorf("Promises = %v, %v", promises, err)
	}
	// A removed volume has no promise any more.
	if err := l.Remove(t.Context(), "b", true); err != nil {
		t.Fatal(err)
	}
	if err := create("c", "1000"); err != nil {
		t.Error(err)
	}
	// Where nothing was measured, nothing is refused, and the command that measures is named.
	l.Machine = profile.Host{}
	if err := create("d", "5000"); err != nil {
		t.Fatal(err)
	}
	if v, err = l.Get("d"); err != nil {
		t.Fatal(err)
	}
	if report, err := l.CheckVolume(v); err != nil || !strings.Contains(report.Text(), "advisory") || !strings.Contains(report.Text(), "plimsoll fio --record") {
		t.Errorf("CheckVolume = %s, %v", report.Text(), err)
	}
}
