package workload

import (
	"testing"
	"time"
)

// TestRoom: what is there at most at one time; nothing is claimed of what has no end by size.
func TestRoom(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		want int64
	}{
		{Spec{Kind: Append, Count: 100, BS: 64}, 8 << 10},
		{Spec{Kind: Append, Count: 100, BS: 64, Runtime: time.Second}, 0},
		{Spec{Kind: WAL}, 0},
		{Spec{Kind: Tree, Count: 10, BS: 4096}, 2 * 10 * 4096},
		// The sources, and the outputs of two builds.
		{Spec{Kind: Tree, Count: 10, BS: 4096, Runtime: time.Second}, 3 * 10 * 4096},
	} {
		if _, got := tt.spec.Room(); got != tt.want {
			t.Errorf("Room of %+v = %d, want %d", tt.spec, got, tt.want)
		}
	}
}
