package load

import (
	"testing"
	"time"
)

func TestSampleEvery(t *testing.T) {
	for _, row := range []struct{ runtime, want time.Duration }{
		{0, time.Second},
		{time.Millisecond, 10 * time.Millisecond},
		{400 * time.Millisecond, 20 * time.Millisecond},
		{10 * time.Second, 500 * time.Millisecond},
		{20 * time.Second, time.Second},
		{time.Hour, time.Second},
	} {
		if got := SampleEvery(row.runtime); got != row.want {
			t.Errorf("SampleEvery(%v) = %v, want %v", row.runtime, got, row.want)
		}
	}
}

func TestSampleEveryOfAJob(t *testing.T) {
	j := Job{RW: Read, IOEngine: Null, Size: 1 << 30, Runtime: 300 * time.Millisecond, RateIOPS: 1000, SampleEvery: 100 * time.Millisecond}
	r, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := r.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// SampleEvery(300ms) would be 15 ms: 20 samples.
	if n := len(res.Samples); n < 1 || n > 4 {
		t.Errorf("%d samples of 100 ms in 300 ms", n)
	}
	if s := res.Samples[0]; s.At < 100*time.Millisecond {
		t.Errorf("the first sample ended after %v", s.At)
	}
	for _, bad := range []time.Duration{-1, 1, 9 * time.Millisecond} {
		j.SampleEvery = bad
		if err := j.Validate(); err == nil {
			t.Errorf("SampleEvery = %v is accepted", bad)
		}
	}
}
