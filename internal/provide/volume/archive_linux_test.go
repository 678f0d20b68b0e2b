package volume

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExport: an archive of a volume makes the same volume.
func TestExport(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"xfs", "ext4"} {
		s := volumesOn(t, on)
		made(t, s, "db")
		root := mounted(t, s, "db")
		furnish(t, root)
		want := tree(t, root)
		var archive bytes.Buffer
		note, err := s.Export(t.Context(), "db", "", &archive)
		must(t, err)
		if (note == "") != (on == "xfs") {
			t.Errorf("on %s: the note is %q", on, note)
		}
		if archive.Len() > 8<<20 {
			t.Errorf("the archive has %d bytes: a hole of 24 MiB is in it", archive.Len())
		}
		backend, p, err := s.Options(map[string]string{"capacity": "128MiB", "filesystem": "btrfs"})
		must(t, err)
		_, err = s.Import(t.Context(), "again", backend, p, &archive)
		must(t, err)
		same(t, "the imported volume", want, tree(t, mounted(t, s, "again")))
	}
}

// TestImportHostile: an archive that leads out of the volume changes nothing outside, and one that can't be unpacked makes no volume.
func TestImportHostile(t *testing.T) {
	t.Parallel()
	s := volumesOn(t, "xfs")
	outside := t.TempDir()
	write(t, outside, "victim", "safe")
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	for name, headers := range map[string][]tar.Header{
		"link":      {{Name: "x", Typeflag: tar.TypeSymlink, Linkname: outside}, file("x/victim")},
		"uplink":    {{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "../../../../../../.." + outside}, file("x/victim")},
		"deep-link": {{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "b"}, {Name: "b", Typeflag: tar.TypeSymlink, Linkname: outside}, file("a/victim")},
		"over-link": {{Name: "x", Typeflag: tar.TypeSymlink, Linkname: outside + "/victim"}, file("x")},
		"hard-link": {{Name: "x", Typeflag: tar.TypeLink, Linkname: outside + "/victim"}, file("x")},
		"hard-via":  {{Name: "s", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "x", Typeflag: tar.TypeLink, Linkname: "s/victim"}, file("x")},
		"absolute":  {file(outside + "/victim")},
		"up":        {file("../../../../../../../.." + outside + "/victim")},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			text := "overwritten"
			if h.Typeflag != tar.TypeReg {
				text = ""
			}
			h.Size = int64(len(text))
			must(t, w.WriteHeader(&h))
			_, err := w.Write([]byte(text))
			must(t, err)
		}
		must(t, w.Close())
		backend, p, err := s.Options(map[string]string{"capacity": "32MiB"})
		must(t, err)
		_, failed := s.Import(t.Context(), name, backend, p, &b)
		holds(t, outside, "victim", "safe")
		_, err = os.Lstat(filepath.Join(s.Folder(), name))
		if (failed == nil) != (err == nil) {
			t.Errorf("%s: %v, and the volume's folder: %v", name, failed, err)
		}
	}
	for name, text := range map[string]string{"not-tar": strings.Repeat("no archive ", 1000), "cut": "x"} {
		backend, p, err := s.Options(map[string]string{"capacity": "32MiB"})
		must(t, err)
		if _, err := s.Import(t.Context(), name, backend, p, strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "tar") {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := os.ReadDir(outside)
	if err != nil || len(list) != 1 {
		t.Errorf("outside: %v, %v", list, err)
	}
}

// TestImportTooLarge: a volume that is full in the middle isn't made.
func TestImportTooLarge(t *testing.T) {
	t.Parallel()
	s := volumesOn(t, "xfs")
	made(t, s, "db")
	write(t, mounted(t, s, "db"), "f", strings.Repeat("0123456789", 6<<20))
	var archive bytes.Buffer
	_, err := s.Export(t.Context(), "db", "", &archive)
	must(t, err)
	backend, p, err := s.Options(map[string]string{"capacity": "32MiB"})
	must(t, err)
	if _, err := s.Import(t.Context(), "small", backend, p, &archive); err == nil || !strings.Contains(err.Error(), "the volume is full") {
		t.Errorf("an archive larger than its volume: %v", err)
	}
	if _, err := s.Get("small"); !isUnknown(err) {
		t.Errorf("the volume: %v", err)
	}
}
