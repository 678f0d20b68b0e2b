package load

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// loopDisk makes a loop device over a file of zeros, and returns both.
func loopDisk(t *testing.T, size int64) (dev, image string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a loop device")
	}
	image = filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("needs a loop device: %v", err)
	}
	dev = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", dev).CombinedOutput(); err != nil {
			t.Errorf("losetup --detach %s: %v: %s", dev, err, out)
		}
	})
	return dev, image
}

// counters are what the kernel counted for a device: requests and sectors of 512 bytes
// (Documentation/block/stat.rst).
type counters struct{ reads, readSectors, writes, writtenSectors, flushes int64 }

func countersOf(t *testing.T, dev string) (c counters) {
	t.Helper()
	b, err := os.ReadFile("/sys/block/" + filepath.Base(dev) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b))
	if len(f) < 17 {
		t.Skip("needs Linux 5.5, which counts flushes")
	}
	for i, p := range map[int]*int64{0: &c.reads, 2: &c.readSectors, 4: &c.writes, 6: &c.writtenSectors, 15: &c.flushes} {
		if *p, err = strconv.ParseInt(f[i], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// outcome is what one program says that it did, and what the kernel says.
type outcome struct {
	readOps, readBytes, writeOps, writtenBytes, syncs int64
	kernel                                            counters
	// touched lists the blocks that are no zeros any more.
	touched []int64
}

// observe runs f on a device that was cleared, and looks at it from below.
func observe(t *testing.T, dev, image string, bs int64, f func(*outcome)) outcome {
	t.Helper()
	st, err := os.Stat(image)
	if err != nil {
		t.Fatal(err)
	}
	img, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if _, err := img.WriteAt(make([]byte, st.Size()), 0); err != nil {
		t.Fatal(err)
	}
	var o outcome
	a := countersOf(t, dev)
	f(&o)
	b := countersOf(t, dev)
	o.kernel = counters{b.reads - a.reads, b.readSectors - a.readSectors, b.writes - a.writes, b.writtenSectors - a.writtenSectors, b.flushes - a.flushes}
	p, zero := make([]byte, bs), make([]byte, bs)
	for at := int64(0); at < st.Size(); at += bs {
		if _, err := img.ReadAt(p, at); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p, zero) {
			o.touched = append(o.touched, at/bs)
		}
	}
	if after, err := os.Stat(image); err != nil || after.Size() != st.Size() {
		t.Errorf("the size went from %d to %d, %v", st.Size(), after.Size(), err)
	}
	return o
}

func (o *outcome) ours(t *testing.T, j Job) {
	res := start(t, j)
	for _, c := range res.Classes {
		switch c.Name {
		case "read":
			o.readOps, o.readBytes = c.Ops, c.Bytes
		case "write":
			o.writeOps, o.writtenBytes = c.Ops, c.Bytes
		case "sync":
			o.syncs = c.Ops
		}
	}
}

func (o *outcome) fio(t *testing.T, j Job) {
	t.Helper()
	args := []string{
		"--name=x", "--filename=" + j.Filename, "--rw=" + j.RW, fmt.Sprint("--bs=", j.BS), fmt.Sprint("--offset=", j.Offset), fmt.Sprint("--size=", j.Size),
		"--direct=1", "--allow_file_create=0", "--iodepth=1", "--ioengine=psync", "--output-format=json",
	}
	if j.NumberIOs > 0 {
		args = append(args, fmt.Sprint("--number_ios=", j.NumberIOs))
	}
	if j.FDataSync > 0 {
		args = append(args, fmt.Sprint("--fdatasync=", j.FDataSync))
	}
	cmd := exec.Command("fio", args...)
	cmd.Dir = t.TempDir() // It may leave a file of its own state.
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("fio %v: %v: %s", args, err, out)
	}
	var r struct {
		Jobs []struct {
			Read, Write struct {
				Bytes int64 `json:"io_bytes"`
				Ops   int64 `json:"total_ios"`
			}
			// fio 3.33 has a total_ios here that stays 0.
			Sync struct {
				Lat struct{ N int64 } `json:"lat_ns"`
			}
		} `json:"jobs"`
	}
	if err := json.Unmarshal(out[max(strings.IndexByte(string(out), '{'), 0):], &r); err != nil || len(r.Jobs) != 1 {
		t.Fatalf("fio's answer: %v: %s", err, out)
	}
	w := r.Jobs[0]
	o.readOps, o.readBytes, o.writeOps, o.writtenBytes, o.syncs = w.Read.Ops, w.Read.Bytes, w.Write.Ops, w.Write.Bytes, w.Sync.Lat.N
}

// TestAgreesWithFio does the same jobs with fio and with this package on a loop device:
// operations, bytes, the requests, sectors and flushes that the kernel counted, and the
// blocks that were written must be the same.
func TestAgreesWithFio(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skipf("needs fio: %v", err)
	}
	const bs, blocks = 8192, 200
	dev, image := loopDisk(t, (blocks+20)*bs)
	for _, rw := range []string{Read, Write, RandRead, RandWrite} {
		for _, end := range []struct {
			name      string
			numberIOs int64
			fdatasync int
		}{{"one pass", 0, 0}, {"number_ios", 77, 0}, {"fdatasync", 77, 8}} {
			j := Job{RW: rw, BS: bs, Offset: 2 * bs, Size: blocks * bs, NumberIOs: end.numberIOs, FDataSync: end.fdatasync, Direct: true, Filename: dev}
			if j.FDataSync > 0 && !j.writes() {
				continue
			}
			theirs := observe(t, dev, image, bs, func(o *outcome) { o.fio(t, j) })
			for _, engine := range realEngines() {
				t.Run(rw+"/"+end.name+"/"+engine, func(t *testing.T) {
					needEngine(t, engine)
					j.IOEngine = engine
					compare(t, j, observe(t, dev, image, bs, func(o *outcome) { o.ours(t, j) }), theirs)
				})
			}
		}
	}
}

// compare holds our outcome a against fio's b.
func compare(t *testing.T, j Job, a, b outcome) {
	t.Helper()
	if a.readOps != b.readOps || a.readBytes != b.readBytes || a.writeOps != b.writeOps || a.writtenBytes != b.writtenBytes || a.syncs != b.syncs {
		t.Errorf("ours did %d reads of %d bytes, %d writes of %d bytes and %d syncs; fio %d of %d, %d of %d and %d",
			a.readOps, a.readBytes, a.writeOps, a.writtenBytes, a.syncs, b.readOps, b.readBytes, b.writeOps, b.writtenBytes, b.syncs)
	}
	if a.kernel != b.kernel {
		t.Errorf("the kernel counted for ours %+v, for fio %+v", a.kernel, b.kernel)
	}
	// What we say is what the kernel saw, which counts a flush as a write of no sector too.
	k := a.kernel
	if k.reads != a.readOps || k.readSectors*512 != a.readBytes || k.writes-a.writeOps != 0 && k.writes-a.writeOps != k.flushes || k.writtenSectors*512 != a.writtenBytes || k.flushes != a.syncs {
		t.Errorf("ours says %+v", a)
	}
	want := int64(0)
	if j.FDataSync > 0 {
		want = j.NumberIOs / int64(j.FDataSync)
	}
	if a.syncs != want {
		t.Errorf("%d syncs after %d writes with fdatasync=%d, want %d", a.syncs, a.writeOps, j.FDataSync, want)
	}
	if len(a.touched) != len(b.touched) || int64(len(a.touched)) != a.writeOps {
		t.Errorf("ours wrote %d blocks in %d writes, fio %d: each once", len(a.touched), a.writeOps, len(b.touched))
	}
	if !j.random() || j.NumberIOs == 0 {
		if !slices.Equal(a.touched, b.touched) {
			t.Errorf("ours wrote the blocks %v, fio %v", a.touched, b.touched)
		}
	}
}
