package load

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// outcome has the counts of one program, and the kernel's.
type outcome struct {
	readOps, readBytes, writeOps, writtenBytes, syncs int64
	kernel                                            disktest.Counters
	// touched lists the blocks that are not all zeros.
	touched []int64
}

func (o outcome) counts() [5]int64 {
	return [...]int64{o.readOps, o.readBytes, o.writeOps, o.writtenBytes, o.syncs}
}

// observe clears a device, runs f on it, and reads the device's counters and contents.
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
	before := disktest.Count(t, dev)
	f(&o)
	o.kernel = disktest.Count(t, dev).Since(before)
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
	cmd.Dir = t.TempDir() // fio may leave a state file.
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
			// In fio 3.33 this total_ios stays 0.
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

// TestAgreesWithFio does the same jobs with fio and with this package on a loop device. The operations, the bytes, the kernel's
// counts of requests, sectors and flushes, and the written blocks must be the same.
func TestAgreesWithFio(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skipf("needs fio: %v", err)
	}
	const bs, blocks = 8192, 200
	image := disktest.Image(t, (blocks+20)*bs)
	dev := disktest.Loop(t, image, false)
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

// compare compares our outcome a with fio's b.
func compare(t *testing.T, j Job, a, b outcome) {
	t.Helper()
	if ours, fios := a.counts(), b.counts(); ours != fios {
		t.Errorf("reads, bytes read, writes, bytes written and syncs: ours did %d, fio %d", ours, fios)
	}
	if a.kernel != b.kernel {
		t.Errorf("the kernel counted for ours %+v, for fio %+v", a.kernel, b.kernel)
	}
	// Our counts must be the kernel's, which also counts a flush as a write of no sector.
	k := a.kernel
	got := [...]int64{a.readOps, a.readBytes, a.writtenBytes, a.syncs}
	if want := [...]int64{k.Reads, k.BytesRead, k.BytesWritten, k.Flushes}; got != want {
		t.Errorf("reads, bytes read, bytes written and syncs: ours says %d, the kernel %d", got, want)
	}
	if more := k.Writes - a.writeOps; more != 0 && more != k.Flushes {
		t.Errorf("ours says %d writes, the kernel %d with %d flushes", a.writeOps, k.Writes, k.Flushes)
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
