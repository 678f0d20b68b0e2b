package keeper

import (
	"os"
	"slices"
	"testing"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/state/journal"
)

// TestLeft: the records say what a keeper that has ended left on running containers, with both values of a limit that it was changing.
func TestLeft(t *testing.T) {
	run := t.TempDir()
	s, err := newStore(run, "/proc")
	if err != nil {
		t.Fatal(err)
	}
	self, prior := procfs.Self(), limit.Limits{Memory: 32 << 20}
	held := func(value string) []recordedLimit {
		return []recordedLimit{{Limit: Limit{Grant: Grant{Slot: Slot{Key: limit.Memory}, Value: value, Rule: "small"}}, Prior: &prior}}
	}
	earlier, boot := self, self
	earlier.Start--
	boot.Boot = "another"
	for id, r := range map[string]record{
		"lives":     {Process: self, Name: "docker:web", ID: "1", Held: held("64MiB")},
		"has ended": {Process: earlier, Name: "docker:db", ID: "2", Held: held("1MiB")},
		"rebooted":  {Process: boot, Name: "docker:old", ID: "3", Held: held("2MiB")},
		"damaged":   {Process: self},
	} {
		if err := s.journal.Keep(t.Context(), containerKind, id, r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Left(run, "/proc")
	if d, other := journal.Damaged(err); len(d) != 1 || d[0].ID != "damaged" || other != nil {
		t.Errorf("Left() = %v, want what is damaged", err)
	}
	if len(list) != 1 || list[0].Target != "docker:web" || list[0].ID != "1" {
		t.Fatalf("Left() = %+v, want docker:web", list)
	}
	var values []string
	for _, h := range list[0].Held {
		values = append(values, h.Rule+" "+h.Value)
	}
	if want := []string{"small 64MiB", "small 32MiB"}; !slices.Equal(values, want) {
		t.Errorf("it is held to %q, want %q", values, want)
	}
	if _, err := Left(run+"/none", "/proc"); err != nil {
		t.Errorf("Left() of no folder = %v", err)
	}
	if _, err := os.Stat(run + "/none"); !os.IsNotExist(err) {
		t.Errorf("it made the folder: %v", err)
	}
}
