package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume"
	"plimsoll/internal/state/journal"
)

// BenchmarkList lists 4,000 volumes over the socket. The goal is 50 ms.
func BenchmarkList(b *testing.B) {
	l := newLab(b)
	state := filepath.Dir(l.socket)
	j := journal.In(state)
	p, err := profile.In(state).FromOptions(map[string]string{"profile": "GOLD", "level": "none"})
	if err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range 4000 {
		name := fmt.Sprintf("volume-%04d", i)
		v := volume.Volume{Name: name, Where: volume.Where{Backend: "local"}, Profile: *p, Created: old, Phase: volume.Ready, Folder: filepath.Join(state, "volumes", name)}
		if err := j.Keep(b.Context(), volume.Kind, name, v); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(j.Path(volume.Kind, name), old, old); err != nil {
			b.Fatal(err)
		}
	}
	list := func() {
		if status, body := l.do("VolumeDriver.List", nil); status != 200 || len(body) < 4000*20 {
			b.Fatalf("%d %.100s", status, body)
		}
	}
	began := time.Now()
	list()
	first, before := time.Since(began), used(b)
	for b.Loop() {
		list()
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-first")
	b.ReportMetric(float64((used(b)-before).Microseconds())/1000/float64(b.N), "ms-CPU/op")
}

// used is the CPU time of this process, the client's included: on a busy machine the time of the wall says little.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMount mounts and unmounts a volume over the socket. The goal of the mount is 30 ms.
func BenchmarkMount(b *testing.B) {
	l := newLab(b)
	if status, body := l.do("VolumeDriver.Create", request{Name: "db", Opts: map[string]string{"capacity": "20GB"}}); status != 200 {
		b.Fatal(body)
	}
	for b.Loop() {
		if status, body := l.do("VolumeDriver.Mount", request{Name: "db", ID: "x"}); status != 200 {
			b.Fatal(body)
		}
		b.StopTimer()
		if status, body := l.do("VolumeDriver.Unmount", request{Name: "db", ID: "x"}); status != 200 {
			b.Fatal(body)
		}
		b.StartTimer()
	}
}

// BenchmarkCreate makes volumes of 20 GB over the socket. The goal is 150 ms.
func BenchmarkCreate(b *testing.B) {
	l := newLab(b)
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprintf("v%d", i)
		if status, body := l.do("VolumeDriver.Create", request{Name: name, Opts: map[string]string{"capacity": "20GB"}}); status != 200 {
			b.Fatal(body)
		}
		b.StopTimer()
		if err := l.volumes.Remove(b.Context(), name, true); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkGet is what Docker asks before most other requests.
func BenchmarkGet(b *testing.B) {
	l := newLab(b)
	if status, body := l.do("VolumeDriver.Create", request{Name: "db", Opts: map[string]string{"capacity": "32MiB", "profile": "GOLD", "level": "none"}}); status != 200 {
		b.Fatal(body)
	}
	for b.Loop() {
		if status, body := l.do("VolumeDriver.Get", request{Name: "db"}); status != 200 {
			b.Fatal(body)
		}
	}
}
