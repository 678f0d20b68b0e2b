package trial

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
)

// TestLedger asks for the room of cells in real places; nothing is laid out, so the
// sizes may be as large as they like.
func TestLedger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
	r, _, _ := newRunner(t, `
name: huge
workloads:
  small: {rw: read, size: 1MiB, runtime: 1s}
  huge:  {rw: read, size: 500TiB, runtime: 1s}
  other: {rw: write, size: 500TiB, runtime: 1s}
  wal:   {kind: wal}
engines: [host]
places: {dir: {}, tmpfs: {}}
clients: [1, 2]
`)
	begin(t, r)
	l := newLedger()
	take := func(workload, place string, clients int) string {
		t.Helper()
		c := record.Cell{Workload: workload, Engine: "host", Place: place, Limits: "none", Clients: clients}
		agents, _, err := r.agents(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return l.take(r, c, agents)
	}
	taken := func(place string) (bytes int64) {
		for mount, s := range l.spaces {
			if (mount == "") == (place == "tmpfs") {
				bytes += s.taken
			}
		}
		return bytes
	}
	for _, place := range []string{"dir", "tmpfs"} {
		for _, tt := range []struct {
			workload string
			clients  int
			why      string
			// taken is what is reserved afterwards.
			taken int64
		}{
			{"small", 1, "", 1 << 20},
			{"small", 1, "", 1 << 20}, // The next trial finds the file.
			{"small", 2, "", 2 << 20}, // The first client is that of the cell before.
			{"wal", 1, "", 2 << 20},
			{"huge", 1, "too little space: its files need 500 TiB, those of earlier cells 2 MiB, but only ", 2 << 20},
			{"huge", 2, "too little space: its files need 1000 TiB", 2 << 20},
		} {
			why := take(tt.workload, place, tt.clients)
			if !strings.HasPrefix(why, tt.why) || (why == "") != (tt.why == "") {
				t.Errorf("%s in %s by %d: %q, want %q", tt.workload, place, tt.clients, why, tt.why)
			}
			if got := taken(place); got != tt.taken {
				t.Errorf("%s in %s by %d: %d bytes are reserved, want %d", tt.workload, place, tt.clients, got, tt.taken)
			}
		}
		if why := tooLittle(&space{mount: "/m", free: 3 << 20}, 1<<20, "dir"); !strings.Contains(why, "need 1 MiB, but only 3 MiB are free on the file system of /m, and 4.02 MiB must stay free") {
			t.Errorf("tooLittle() = %q, which doesn't say why 3 MiB are too little for 1 MiB", why)
		}
		word := map[string]string{"dir": "are free on the file system of /", "tmpfs": "of memory are free"}[place]
		if why := take("other", place, 1); !strings.Contains(why, word) {
			t.Errorf("other in %s: %q, want %q", place, why, word)
		}
	}
}
