package leaktest

import "testing"

func TestMarked(t *testing.T) {
	for _, row := range []struct {
		what string
		mark string
		want bool
	}{
		{"cgroup /blkio/test-7-10", "/blkio/test-7-1", false},
		{"cgroup /blkio/test-7-10/test-7-1", "test-7-1", true},
		{"cgroup /blkio/test-7-1/a", "/blkio/test-7-1", true},
		{"cgroup /blkio/test-7-1", "/blkio/test-7", true},
		{"mount /tmp/TestA1/001", "TestA", true},
		{"mount /tmp/TestA1/001", "TestB", false},
	} {
		if got := marked(row.what, []string{"nothing of this", row.mark}); got != row.want {
			t.Errorf("marked(%q, %q) = %v, want %v", row.what, row.mark, got, row.want)
		}
	}
}
