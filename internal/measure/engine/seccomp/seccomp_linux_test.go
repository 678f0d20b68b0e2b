package seccomp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/testkit/golden"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for _, profile := range []string{"", Unconfined, "testdata/no-io-uring.json"} {
		if err := Check(profile); err != nil {
			t.Errorf("Check(%q) = %v", profile, err)
		}
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "not a regular file", dir: "not a regular file", filepath.Join(dir, "none"): "no such file"} {
		if err := Check(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Check(%s) = %v, want %q", path, err, want)
		}
	}
	path := filepath.Join(dir, "profile.json")
	const allow = `{"defaultAction":"SCMP_ACT_ALLOW"`
	var sheet golden.Sheet
	for _, text := range []string{
		"",
		"\x00\xff",
		"{} {}",
		"[]",
		"7",
		"null",
		"{}",
		`{"defaultAction":1}`,
		`{"defaultAction":"ALLOW"}`,
		`{"defaultAction":"SCMP_ACT_NOTIFY"}`,
		allow + `,"syscalls":{}}`,
		allow + `,"syscalls":["read"]}`,
		allow + `,"syscalls":[{"action":"SCMP_ACT_ALLOW"}]}`,
		allow + `,"syscalls":[{"names":["read"]}]}`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_LOG"},{"names":["a"],"action":"\u001b[31m"}]}`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_LOG","args":[{"index":0,"value":1,"op":"=="}]}]}`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_LOG","args":[{"index":-1,"value":1,"op":"SCMP_CMP_EQ"}]}]}`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_ERRNO","errnoRet":1,"args":[{"index":0,"op":"SCMP_CMP_NE"}]}]}`,
		`{"defaultAction":"SCMP_ACT_ERRNO","x-mine":1,"syscalls":[{"names":["a"],"action":"SCMP_ACT_ALLOW","comment":"","args":[]}]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Check(path)
		sheet.Add(fmt.Sprintf("%q", text), err)
	}
	sheet.Check(t, "refused.txt", golden.Text(path, "PATH"))
}

// TestRead: what would hang or fill the memory is refused.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	fifo, big, good := filepath.Join(dir, "fifo"), filepath.Join(dir, "big"), filepath.Join(dir, "good")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "not a regular file", "/dev/zero": "not a regular file", dir: "not a regular file", big: "at most", filepath.Join(dir, "none"): "no such file"} {
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read(%s) = %v, want %q", path, err, want)
		}
	}
	if b, err := read(good); err != nil || string(b) != "{}" {
		t.Errorf("read = %q, %v", b, err)
	}
}

// TestForContainer: conditions are resolved for the container, and what is no profile is named.
func TestForContainer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	for _, row := range []struct{ text, want string }{
		{"", "seccomp profile"}, {"[]", "seccomp profile"}, {"{}", "defaultAction"},
	} {
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ForContainer(path, "amd64", nil); err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("ForContainer of %q = %v, want %q", row.text, err, row.want)
		}
	}
	const profile = `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1,
"archMap":[{"architecture":"SCMP_ARCH_X86_64","subArchitectures":["SCMP_ARCH_X86"]},{"architecture":"SCMP_ARCH_AARCH64"}],
"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"},{"name":"write","action":"SCMP_ACT_ALLOW"},
{"names":["bpf"],"action":"SCMP_ACT_ALLOW","includes":{"caps":["CAP_BPF"]}},
{"names":["chown"],"action":"SCMP_ACT_ALLOW","includes":{"caps":["CAP_CHOWN"]}},
{"names":["arm"],"action":"SCMP_ACT_ALLOW","includes":{"arches":["arm64"]}},
{"names":["clone"],"action":"SCMP_ACT_ALLOW","excludes":{"caps":["CAP_CHOWN"]}},
{"names":["x32"],"action":"SCMP_ACT_ALLOW","excludes":{"arches":["amd64"]}}]}`
	if err := os.WriteFile(path, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ForContainer(path, "amd64", []string{"CAP_CHOWN"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Syscalls {
		names = append(names, c.Names...)
	}
	if diff := cmp.Diff([]string{"read", "write", "chown"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]specs.Arch{specs.ArchX86_64, specs.ArchX86}, got.Architectures); diff != "" || *got.DefaultErrnoRet != 1 {
		t.Errorf("architectures %s, errno %v", diff, *got.DefaultErrnoRet)
	}
}
