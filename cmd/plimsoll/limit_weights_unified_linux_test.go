package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// writtenBy is how many bytes a group has written to a device (io.stat).
func writtenBy(t *testing.T, g disktest.Group, number string) int64 {
	t.Helper()
	for _, f := range strings.Fields(g.Line(t, "io.stat", number)) {
		if text, ok := strings.CutPrefix(f, "wbytes="); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// TestLimitUnifiedWeightsDivide: of two that write as much as they can, iocost gives more to the one with the larger weight, and the
// keeper holds a weight of a rule's.
func TestLimitUnifiedWeightsDivide(t *testing.T) {
	needRun(t)
	heavy, light := disktest.NewUnifiedGroup(t, "io"), disktest.NewUnifiedGroup(t, "io")
	if _, err := os.Stat(costQoSFile); err != nil {
		t.Skip("needs iocost, which version 2 of control groups has")
	}
	loop, _ := fastDisk(t)
	number := disktest.Number(t, loop)
	disktest.Schedule(t, loop, "none")
	t.Cleanup(func() {
		for file, text := range map[string]string{costQoSFile: " enable=0 ctrl=auto", costModelFile: " ctrl=auto"} {
			if err := os.WriteFile(file, []byte(number+text), 0); err != nil {
				t.Error(err)
			}
		}
	})
	l := limitLab{target.Options{}, t.TempDir()}
	// The disk is said to be slow, and iocost to go by that alone: so it is shared out however fast the machine is.
	l.do(t, exitDone, "cost", loop, "--qos", "enable=1,min=100%,max=100%", "--model", "rbps=4MB,rseqiops=250,rrandiops=250,wbps=4MB,wseqiops=250,wrandiops=250")
	l.do(t, exitDone, "set", "cgroup:"+string(heavy), "--device", loop, "--weight", "400")
	k := keep(t, target.Options{}, "all", "{device: "+loop+"}", "{weight: 50}")
	k.Started(target.Target{Kind: target.Cgroup, Name: string(light), Running: true})
	has := func() bool { return light.Line(t, "io.weight", number) == "50" }
	k.until(t, "the weight is held", has)
	k.until(t, "the log says so", func() bool { return k.said("held to") })
	if err := light.Put("io.weight", number+" 900"); err != nil {
		t.Fatal(err)
	}
	k.until(t, "the weight is restored", has)

	for range 3 { // The machine may be busy.
		before := [2]int64{writtenBy(t, heavy, number), writtenBy(t, light, number)}
		var writers []*exec.Cmd
		for i, g := range []disktest.Group{heavy, light} {
			c := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero "of=$1" bs=16k count=25000 seek="$2" oflag=direct`, string(g), loop, strconv.Itoa(i*25000))
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, c)
		}
		time.Sleep(6 * time.Second)
		one, other := writtenBy(t, heavy, number)-before[0], writtenBy(t, light, number)-before[1]
		for _, c := range writers {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		t.Logf("with the weights 400 and 50 they wrote %d and %d bytes", one, other)
		if other > 0 && one > 2*other {
			k.end()
			if has() {
				t.Error("the keeper ended, and its weight stays")
			}
			return
		}
	}
	t.Error("the larger weight had not the larger share, once in three times")
}
