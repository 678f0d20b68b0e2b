package profile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// answers is a Machine with the same answer to each question, for the tables of backends. The questions to this machine are tested in
// machine_linux_test.go.
type answers struct {
	err        error
	filesystem string
	disk       string
}

func (a answers) Limits() (int, error) { return 1, a.err }
func (a answers) Room(string) (Room, error) {
	return Room{Disk: "vda", Measured: 10_500, Promised: 7_400}, a.err
}
func (answers) Node() string              { return "here" }
func (a answers) Filesystem(string) error { return a.err }
func (a answers) NFS() error              { return a.err }
func (a answers) Loop() error             { return a.err }
func (a answers) Encryption() error       { return a.err }
func (a answers) Quota(string) error      { return a.err }
func (a answers) Reflinks(string) error   { return a.err }
func (a answers) Below(string) (string, string, error) {
	return a.filesystem, a.disk, a.err
}

var can = answers{filesystem: Ext4, disk: SSD}

// all asks for each key.
func all(t *testing.T) *Profile {
	t.Helper()
	p, err := Parse("all", []byte(storidge))
	if err != nil {
		t.Fatal(err)
	}
	p, err = p.With(map[string]string{"encryption": "yes", "encryption.key_command": "pass show k", "compression": "yes", "local": "yes", "autoexpand": "yes", "replication": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "ALL"
	return p
}

// TestCheckTables: each backend answers for each key, on a machine that can do all, one that can't, and one of which it isn't known.
func TestCheckTables(t *testing.T) {
	var sheet golden.Sheet
	for _, b := range Backends() {
		if len(b.rules) != len(promises) {
			t.Errorf("backend %s has %d rules, want %d", b.Name, len(b.rules), len(promises))
		}
		for name, m := range map[string]answers{"can": can, "can't": {err: no("it", "the machine can't", "mend it")}, "unknown": {err: errors.New("an I/O error")}} {
			r := Check(all(t), b, m, "/data")
			if len(r.Keys) != len(promises) {
				t.Errorf("Check(%s) has %d keys, want %d", b.Name, len(r.Keys), len(promises))
			}
			for _, a := range r.Keys {
				if !slices.Contains([]Level{Enforced, Advisory, Unsupported}, a.Level) || a.Why == "" {
					t.Errorf("backend %s, machine %s: %+v", b.Name, name, a)
				}
			}
			if !errors.Is(r.Refusal(), refusal.ErrRefused) || r.Refused != r.Refusal().Error() {
				t.Errorf("backend %s, machine %s: %v, want a refusal", b.Name, name, r.Refusal())
			}
			if name == "can" {
				sheet.Add(b.Name, r.Text()+r.Refused)
			}
		}
	}
	sheet.Check(t, "check.txt")
	if b, err := BackendNamed("locl"); !usage.Is(err) || !strings.Contains(err.Error(), "did you mean local?") {
		t.Errorf("BackendNamed(locl) = %v, %v", b.Name, err)
	}
}

// TestRefusal: what is unsupported refuses the volume, unless it is optional.
func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		yaml, backend string
		m             answers
		want          string
	}{
		{"level: 2", "local", can, "level: the data is on one machine"},
		{"level: 2\noptional: level", "local", can, ""},
		{"level: 1", "local", can, ""},
		{"replication: {enabled: yes, type: sync}", "local", can, "a write does not wait"},
		{"replication: {enabled: yes, type: async, destination: b}", "local", can, ""},
		{"replication: {enabled: yes, type: async, destination: b}", "local", answers{err: no("x", "no reflinks", "")}, "no reflinks"},
		{"replication: {enabled: yes, type: async, destination: b}\nfilesystem: btrfs", "local", can, ""},
		{"capacity: 200MiB\nfilesystem: xfs", "local", can, "xfs needs 300MiB at least"},
		{"capacity: 16MiB\nfilesystem: ext4", "local", can, "ext4 needs 32MiB at least (use a larger capacity)"},
		{"capacity: 32MiB\nfilesystem: ext4", "local", can, ""},
		{"node: here", "local", can, ""},
		{"node: there", "local", can, "this machine is here"},
		{"type: hdd", "local", can, "says that it is an SSD"},
		{"dedupe: yes\nfilesystem: xfs", "local", can, ""},
		{"encryption: {enabled: yes, key_file: /k}", "local", answers{err: no("x", "no dm-crypt", "")}, "no dm-crypt"},
		{"capacity: 1", "directory", can, ""},
		{"capacity: 1", "directory", answers{err: no("x", "off", "")}, ""},
		{"filesystem: xfs", "directory", can, "/data is on ext4"},
		{"provision: thick", "directory", can, "space is taken as data is written"},
		{"shared: yes\ninterface: {type: nfs}", "nfs", can, ""},
		{"shared: yes", "nfs", answers{err: no("x", "the kernel has no nfs", "")}, "the kernel has no nfs"},
		{"iops: 3100,5000", "local", can, ""},
		{"iops: 3101,5000", "local", can, "vda carries 10,500 as measured, of which 7,400 are promised to other volumes (ask for 3,100 at most"},
		{"iops: 3101,5000\noptional: iops.min", "local", can, ""},
		{"iops: 10,20", "nfs", can, "[iops.min, iops.max]"},
	} {
		p, err := Parse("f", []byte(tt.yaml))
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.yaml, err)
			continue
		}
		b, err := BackendNamed(tt.backend)
		if err != nil {
			t.Fatal(err)
		}
		err = Check(p, b, tt.m, "/data").Refusal()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check(%q, %s) refuses with %v, want %q", tt.yaml, tt.backend, err, tt.want)
		}
	}
}
