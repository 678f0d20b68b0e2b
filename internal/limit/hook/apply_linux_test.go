package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/refusal"
)

// TestApplyRefused: every limit that can't be set is a refusal, which ends the command with status 5. A rule's fault ended it with 1, and some
// refusals with 5.
func TestApplyRefused(t *testing.T) {
	root := treetest.Make(t, map[string]string{
		"proc/self/mountinfo":                     "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n",
		"proc/sys/kernel/random/boot_id":          "boot\n",
		"proc/7/stat":                             "7 (sleep) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n",
		"proc/7/cgroup":                           "2:blkio:/shop\n",
		"proc/7/mountinfo":                        "1 0 8:1 / / rw - ext4 /dev/a rw\n",
		"cg/cgroup.procs":                         "1\n",
		"cg/shop/cgroup.procs":                    "7\n",
		"cg/shop/blkio.throttle.write_bps_device": "",
		"bundle/config.json":                      "{}",
		"policy.yaml":                             "rules:\n- {name: gone, match: all, where: {device: /dev/plimsoll-none}, limits: {write_bps: 3MiB}}\n",
	})
	machine := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	h, err := hold.New(machine, target.New(target.Options{Proc: machine.Proc}))
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(root, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	state := fmt.Sprintf(`{"id":"shop","bundle":%q,"pid":7}`, filepath.Join(root, "bundle"))
	err = Apply(keeper.Options{Holder: h, Policy: filepath.Join(root, "policy.yaml"), Run: run}, strings.NewReader(state), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "rule gone can't be kept") || !errors.Is(err, refusal.ErrRefused) {
		t.Errorf("Apply() = %v, want a refusal", err)
	}
}
