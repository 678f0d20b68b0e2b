package keeper

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/testkit/disktest"
)

// A classes is what each class of a configuration gives a container: by device and limit, such as "7:0 read_bps".
type classes map[string]map[string]uint64

// ociRates is a list of runtime-spec's LinuxBlockIO, of rates or weights.
type ociRates []struct {
	Major, Minor, Rate int64
	Weight             uint64
}

// goresctrl runs goresctrl's own reader on files, and returns what it refuses, or the classes; data is the disk
// with the container's data, which has the class's weight for all.
func goresctrl(t *testing.T, data string, files []string) (refused []string, all []classes) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs go, to build goresctrl's reader")
	}
	program := filepath.Join(t.TempDir(), "goresctrl")
	if out, err := exec.Command("go", "build", "-C", "../../../tools/goresctrl", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build goresctrl's reader: %v: %s", err, out)
	}
	cmd := exec.Command(program, files...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for range files {
		var r struct {
			Error   string
			Classes map[string]struct {
				Weight                                                                                         *uint64
				WeightDevice                                                                                   ociRates
				ThrottleReadBpsDevice, ThrottleWriteBpsDevice, ThrottleReadIOPSDevice, ThrottleWriteIOPSDevice ociRates
			}
		}
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got := classes{}
		for name, c := range r.Classes {
			all := map[string]uint64{}
			if c.Weight != nil {
				all[data+" "+string(limit.Weight)] = *c.Weight
			}
			for key, rates := range map[limit.Key]ociRates{
				limit.ReadBPS: c.ThrottleReadBpsDevice, limit.WriteBPS: c.ThrottleWriteBpsDevice,
				limit.ReadIOPS: c.ThrottleReadIOPSDevice, limit.WriteIOPS: c.ThrottleWriteIOPSDevice, limit.Weight: c.WeightDevice,
			} {
				for _, r := range rates {
					all[fmt.Sprintf("%d:%d %s", r.Major, r.Minor, key)] = uint64(r.Rate) + r.Weight
				}
			}
			got[name] = all
		}
		refused, all = append(refused, r.Error), append(all, got)
	}
	return refused, all
}

// imported is what the keeper makes of a configuration for containers of the classes.
func imported(t *testing.T, h *hold.Holder, box target.Target, numbers []string, file string, names []string) (classes, error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := policy.FromBlockIO(file, data)
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(file, text)
	if err != nil {
		t.Fatalf("what was made of %s can't be read: %v\n%s", data, err, text)
	}
	got := classes{}
	for _, name := range names {
		box.Labels = map[string]string{"blockio.resources.beta.kubernetes.io/pod": name}
		all := map[string]uint64{}
		for _, g := range rule(h, p, nil, box, nil).grants {
			if !slices.Contains(numbers, g.Device.String()) {
				continue // The machine's own disk, which the container's root is on.
			}
			switch v := g.limits; g.Key {
			case limit.ReadBPS:
				all[g.Device.String()+" read_bps"] = uint64(v.ReadBPS)
			case limit.WriteBPS:
				all[g.Device.String()+" write_bps"] = uint64(v.WriteBPS)
			case limit.ReadIOPS:
				all[g.Device.String()+" read_iops"] = uint64(v.ReadIOPS)
			case limit.WriteIOPS:
				all[g.Device.String()+" write_iops"] = uint64(v.WriteIOPS)
			case limit.Weight:
				all[g.Device.String()+" weight"] = uint64(v.Weight)
			default:
				t.Errorf("%s: a grant of %s", name, g.Key)
			}
		}
		got[name] = all
	}
	return got, nil
}

// TestBlockIO holds the import of block I/O classes against goresctrl itself, which containerd and CRI-O read them with: the
// same files give the same limits on the same devices, and what it refuses is refused.
func TestBlockIO(t *testing.T) {
	t.Parallel()
	needV1(t)
	var disks []string
	for range 3 {
		// In memory, so that nothing but they has weights.
		disks = append(disks, disktest.Loop(t, disktest.ImageIn(t, disktest.Tmpfs(t, ""), 64<<20), false))
	}
	disktest.Format(t, disks[0], "ext4")
	data := disktest.Mount(t, disks[0], "ext4", 0, "")
	// As udev names disks by what they are.
	byID := t.TempDir()
	for i, name := range []string{"ata-DISK-1", "ata-SSD-2", "ata-SSD-3"} {
		if err := os.Symlink(disks[i], filepath.Join(byID, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/null", filepath.Join(byID, "ata-SSD-null")); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("A:", disks[0], "B:", disks[1], "C:", disks[2], "ID:", byID).Replace
	rows := []struct {
		name, text string
		// alone is what the import refuses of what goresctrl takes, and why that is better said.
		alone string
	}{
		{name: "its documentation", text: `
Classes:
  LowPrioThrottled:
    - Weight: 80
    - Devices:
        - "A:"
        - "B:"
      ThrottleReadBps: 50M   # max read bytes per second
      ThrottleWriteBps: 10M  # max write bytes per second
      ThrottleReadIOPS: 10k  # max read io operations per second
      ThrottleWriteIOPS: 5k  # max write io operations per second
      Weight: 50
    - Devices:
        - ID:/*SSD*
      ThrottleReadBps: 100M
      ThrottleWriteBps: 40M
      Weight: 50
  HighPrioFullSpeed:
    - Weight: 400
`},
		{name: "the weight for all comes last", text: `Classes: {a: [{Devices: ["A:"], Weight: 50}, {Weight: 80}]}`},
		{name: "the weight for all comes twice", text: `Classes: {a: [{Weight: 50}, {Devices: ["B:"], Weight: 70}, {Weight: 80}]}`},
		{name: "the later of two", text: `Classes: {a: [{Devices: ["A:", "B:"], ThrottleReadBps: 2M}, {Devices: ["B:", "C:"], ThrottleReadBps: 1M, ThrottleWriteIOPS: 50}]}`},
		{name: "twice the same device", text: `Classes: {a: [{Devices: ["A:", "ID:/ata-DISK-1", "ID:/*DISK*"], ThrottleReadBps: 2M}]}`},
		{name: "quantities", text: `Classes:
  a: [{Devices: ["A:"], ThrottleReadBps: 1.5Mi, ThrottleWriteBps: "2.5k", ThrottleReadIOPS: 12E2, ThrottleWriteIOPS: 5e2}]
  b: [{Devices: ["A:"], ThrottleReadBps: +50M, ThrottleWriteBps: 1Pi, ThrottleReadIOPS: 2000000m, ThrottleWriteIOPS: 4G}]
  c: [{Devices: ["A:"], ThrottleReadBps: 100.5, ThrottleWriteBps: 0.1k, ThrottleReadIOPS: 1500m, ThrottleWriteIOPS: 1e1}]
  d: [{Devices: ["A:"], ThrottleReadBps: 5000000u, ThrottleWriteBps: 5000000001n, ThrottleReadIOPS: .5k, ThrottleWriteIOPS: 5.k}]`},
		{name: "numbers of YAML", text: `Classes:
  a: [{Devices: ["A:"], ThrottleReadBps: 010000, ThrottleWriteBps: 0x1000, ThrottleReadIOPS: 1_000, ThrottleWriteIOPS: 0b1100100}]
  b: [{Devices: ["A:"], ThrottleReadBps: "010000", ThrottleReadIOPS: 1.0e+3}]
  c: [{Weight: 1.2e2}]
  d: [{Weight: 0o144}]`},
		{name: "anchors", text: "x: &w 50\nClasses: {}\n"},
		{name: "aliases", text: "Classes:\n  a: &a [{Devices: &d [\"A:\"], ThrottleReadBps: &q 5M}]\n  b: *a\n  c: [{Devices: *d, ThrottleWriteBps: *q}]\n"},
		{name: "a merge", text: "Classes:\n  a: [&p {Devices: [\"A:\"], ThrottleReadBps: 5M}]\n  b: [{<<: *p, ThrottleWriteBps: 6M}]\n"},
		{name: "patterns", text: `Classes: {a: [{Devices: ["ID:/ata-[A-D]*-?", "ID:/ata-SSD-[^3]"], ThrottleReadBps: 5M}], b: [{Devices: ["ID:/ata-\\SSD-3"], ThrottleReadBps: 6M}]}`},
		{name: "no such device", text: `Classes: {a: [{Devices: ["/dev/plimsoll-no-such*", "A:"], ThrottleReadBps: 5M}], b: [{Devices: ["/dev/plimsoll-no-such"], ThrottleReadBps: 5M}]}`},
		{name: "no block device", text: `Classes: {a: [{Devices: ["/dev/null", "B:"], ThrottleReadBps: 5M}]}`},
		{name: "a bad pattern", text: `Classes: {a: [{Devices: ["/dev/[", "B:"], ThrottleReadBps: 5M}]}`},
		{name: "names that look like patterns", text: `Classes: {"[a]": [{Devices: ["A:"], ThrottleReadBps: 3M}], a: []}`},
		{name: "a name of any characters", text: `Classes: {"a*": [{Devices: ["A:"], ThrottleReadBps: 1M}], ab: []}`, alone: "give the class another name"},
		{name: "a name of one more character", text: `Classes: {"a?": [{Devices: ["A:"], ThrottleReadBps: 1M}], ab: []}`, alone: "give the class another name"},
		{name: "odd names", text: `Classes: {"a: b": [{Weight: 90}], "é\"'": [{Weight: 100}], 5: [{Weight: 110}], 010: [{Weight: 120}], "a #b": [{Weight: 130}], "yes": [{Weight: 140}]}`},
		{name: "no name", text: `Classes: {"": [{Weight: 80}]}`, alone: "no pod can select it"},
		{name: "a name that is a truth", text: `Classes: {yes: [{Weight: 80}]}`, alone: "put it in quotes"},
		{name: "the least weight", text: "Classes: {a: [{Weight: 10}]}"},
		{name: "the most weight", text: "Classes: {a: [{Weight: 1000}]}"},
		{name: "too little weight", text: "Classes: {a: [{Weight: 9}]}"},
		{name: "too much weight", text: "Classes: {a: [{Weight: 1001}]}"},
		{name: "a rate of nothing", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadBps: 0}]}`, alone: "none for no limit"},
		{name: "a rate of one", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadIOPS: 1}]}`, alone: "refuses 0 and 1"},
		{name: "a negative rate", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadBps: -5}]}`},
		{name: "is too large", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadBps: 100E}]}`, alone: "is too large"},
		{name: "too many operations", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadIOPS: 4294967296}]}`, alone: "32 bits"},
		{name: "a number without end", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadBps: "` + strings.Repeat("9", 400) + `"}]}`, alone: "not a quantity"},
		{name: "an exponent without end", text: `Classes: {a: [{Devices: ["A:"], ThrottleReadBps: 1e999999999}]}`, alone: "not a quantity"},
		{name: "not a quantity", text: `Classes: {a: [{Weight: 5x}]}`},
		{name: "a space in it", text: `Classes: {a: [{Weight: "50 M"}]}`},
		{name: "an empty quantity", text: `Classes: {a: [{Weight: 80}, {Devices: ["A:"], ThrottleReadBps: ""}]}`},
		{name: "a null", text: `Classes: {a: [{Weight: 80, Devices: null}, {Devices: ["A:"], ThrottleReadBps: null, ThrottleWriteBps: 5M}], b: null}`},
		{name: "an empty list of devices", text: `Classes: {a: [{Weight: 80, Devices: []}]}`, alone: "an empty list, which matches nothing"},
		{name: "rates for no device", text: "Classes: {a: [{ThrottleReadBps: 5M}]}"},
		{name: "an unknown parameter", text: "Classes: {a: [{Wieght: 50}]}"},
		{name: "an unknown section", text: "Classes: {a: [{Weight: 50}]}\nDefaults: {}\n"},
		{name: "a parameter twice", text: "Classes: {a: [{Weight: 50, Weight: 60}]}"},
		{name: "a class twice", text: "Classes: {a: [{Weight: 50}], a: [{Weight: 60}]}"},
		{name: "one device without a list", text: `Classes: {a: [{Devices: "A:", ThrottleReadBps: 5M}]}`},
		{name: "a list of classes", text: "Classes: [{Weight: 50}]"},
		{name: "a map of parameters", text: "Classes: {a: {Weight: 50}}"},
		{name: "a truth", text: "Classes: {a: [{Weight: true}]}"},
		{name: "lower case", text: "classes: {a: [{weight: 50}]}", alone: "did you mean Classes?"},
		{name: "no YAML", text: "Classes: ["},
		{name: "two documents", text: "Classes: {a: [{Weight: 50}]}\n---\nClasses: {a: [{Weight: 60}]}\n", alone: "a second document starts here"},
		{name: "Windows' line ends", text: "Classes:\r\n  a:\r\n  - Weight: 50\r\n"},
		{name: "a mark at the start", text: "\ufeffClasses: {a: [{Weight: 50}]}"},
	}
	dir := t.TempDir()
	var files []string
	for i, row := range rows {
		file := filepath.Join(dir, fmt.Sprintf("%02d.yaml", i))
		if err := os.WriteFile(file, []byte(fill(row.text)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var numbers []string
	for _, d := range disks {
		numbers = append(numbers, disktest.Number(t, d))
	}
	refused, theirs := goresctrl(t, numbers[0], files)
	h, box := holderFor(t), dataBox(t, data)
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			names := slices.Sorted(maps.Keys(theirs[i]))
			got, err := imported(t, h, box, numbers, files[i], names)
			switch {
			case refused[i] != "":
				if err == nil {
					t.Errorf("it is refused as %q, and imported as %v", refused[i], got)
				}
			case row.alone != "":
				if err == nil || !strings.Contains(err.Error(), row.alone) {
					t.Errorf("imported as %v, %v; want an error with %q", got, err, row.alone)
				}
			case err != nil:
				if limits := 0; len(names) > 0 {
					for _, c := range theirs[i] {
						limits += len(c)
					}
					if limits > 0 {
						t.Errorf("%v; it is %v", err, theirs[i])
					}
				}
			default:
				for _, name := range names {
					if !maps.Equal(got[name], theirs[i][name]) {
						t.Errorf("class %q: %v, want %v", name, got[name], theirs[i][name])
					}
				}
			}
		})
	}
}

// dataBox is a container with a folder of the host's.
func dataBox(t *testing.T, data string) target.Target {
	t.Helper()
	const id = "b10c10b10c10b10c10b10c10b10c10b10c10b10c10b10c10b10c10b10c10b10c"
	group := disktest.NewBlkioGroup(t)
	dir := filepath.Join(string(group), id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		eventually(t, "its group is removed", func() bool { return os.Remove(dir) == nil })
	})
	if err := disktest.Group(dir).Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return target.Target{
		Kind: target.Container, Engine: target.Containerd, Name: "web", ID: id, PID: cmd.Process.Pid, Running: true,
		Mounts: []target.Mount{{Source: data, Destination: data, Volume: "data"}},
	}
}
