package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestDropSaved: of the saved machines those that were used last stay, whatever characters the state folder's path has; other files of
// the cache are none.
func TestDropSaved(t *testing.T) {
	v := &vm{VMOptions: VMOptions{State: filepath.Join(t.TempDir(), "a[b*")}}
	if err := os.MkdirAll(v.vmCache(), 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	var want []string
	for i := range maxSaved + 2 {
		name := fmt.Sprintf("%s%d", savedPrefix, i)
		at := long.Add(time.Duration(i) * time.Minute)
		if err := os.WriteFile(filepath.Join(v.vmCache(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(v.vmCache(), name), at, at); err != nil {
			t.Fatal(err)
		}
		if i >= 2 {
			want = append(want, name)
		}
	}
	if err := os.WriteFile(filepath.Join(v.vmCache(), "initrd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	v.dropSaved()
	entries, err := os.ReadDir(v.vmCache())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want = append([]string{"initrd"}, want...); !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}
