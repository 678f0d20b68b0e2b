package load

import (
	"strings"
	"testing"
)

// TestBuffersFit: large buffers are taken where the machine has room for them, and refused where it has none.
func TestBuffersFit(t *testing.T) {
	j := Job{RW: Read, BS: 64 << 20, IODepth: 256, NumJobs: 1, Filename: "f"}
	if err := j.Validate(); err != nil {
		t.Errorf("16 GiB: %v", err)
	}
	for have, want := range map[int64]string{64 << 30: "", 8 << 30: "16384 MiB, and 8192 MiB of memory are available"} {
		err := j.buffersFit(func() int64 { return have })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d GiB there: %v, want %q", have>>30, err, want)
		}
	}
	j.IODepth = 4
	if err := j.buffersFit(func() int64 { t.Error("looked at"); return 0 }); err != nil {
		t.Error(err)
	}
	j.IODepth, j.NumJobs, j.BS = 4096, 64, 1<<30
	if err := j.Validate(); err == nil || !strings.Contains(err.Error(), "more than 1 TiB") {
		t.Errorf("256 TiB: %v", err)
	}
	if _, err := Prepare(Job{RW: Read, BS: 1 << 30, IODepth: 1000, IOEngine: Null, Size: 1 << 40}); err == nil || !strings.Contains(err.Error(), "available") {
		t.Errorf("1000 GiB on this machine: %v", err)
	}
	if have := availableMemory(); have <= 0 {
		t.Errorf("%d bytes available", have)
	}
}
