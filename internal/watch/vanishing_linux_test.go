package watch

import (
	"testing"
	"time"
)

// TestVanishing: groups that a container makes and removes while they are read are passed over. Their files said "no such device", and
// nothing was known of the container then.
func TestVanishing(t *testing.T) {
	l := newLab(t, nil, nil)
	stop := l.group.Churn(t, "x", 20*time.Microsecond, 0)
	defer stop()
	for range 1500 {
		for _, r := range l.sample().Subjects {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
}
