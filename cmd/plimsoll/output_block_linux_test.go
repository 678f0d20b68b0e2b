package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestOutputsSpareBlockDevices: no command prints over a block device, whether it measures that or not. fio's --output used to: what the
// device held began with the report then.
func TestOutputsSpareBlockDevices(t *testing.T) {
	needRun(t)
	image := disktest.Image(t, 1<<20)
	before := bytes.Repeat([]byte("precious"), 1<<17)
	if err := os.WriteFile(image, before, 0o600); err != nil {
		t.Fatal(err)
	}
	device := disktest.Loop(t, image, false)
	inFolder(t)
	state := t.TempDir()
	for _, link := range []string{"x_bw.1.log", "r.html"} {
		if err := os.Symlink(device, link); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	if r := plimsoll(t, t.Context(), state, "", strings.Fields("dd if=/dev/zero of=q bs=4k count=1 --record")...); r.status != exitDone {
		t.Fatal(r.stderr)
	}
	for _, line := range []string{
		"fio --name=x --filename=" + device + " --rw=randread --bs=4k --size=64k --output=" + device,
		"fio --name=x --rw=read --bs=4k --size=64k --output=" + device,
		"fio --name=x --rw=read --bs=4k --size=64k --write_bw_log=x --log_avg_msec=100",
		"ab -n 2 -e " + device + " " + srv.URL + "/",
		"ab -n 2 -g " + device + " " + srv.URL + "/",
		"report last --format html -o " + device,
		"report last -o r.html",
		"results export last --format csv -o " + device,
	} {
		r := plimsoll(t, t.Context(), state, "", strings.Fields(line)...)
		name := device
		if strings.Contains(line, "log_avg") {
			name = "x_bw.1.log"
		} else if strings.Contains(line, "r.html") {
			name = "r.html"
		}
		r.wantError(t, exitUsage, name, "is a block device")
	}
	if after, err := os.ReadFile(image); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the device was written to, %v", err)
	}
}
