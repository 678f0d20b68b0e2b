package image

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
)

// folderFor is where benchmarks keep images: the folder in PLIMSOLL_BENCH_DIR, or a temporary one.
func folderFor(b *testing.B) string {
	if dir := os.Getenv("PLIMSOLL_BENCH_DIR"); dir != "" {
		dir, err := os.MkdirTemp(dir, "bench")
		must(b, err)
		b.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return b.TempDir()
}

var kinds = []filesystem.Kind{filesystem.Ext4, filesystem.XFS, filesystem.Btrfs}

// BenchmarkCreate makes images of 20 GB.
func BenchmarkCreate(b *testing.B) {
	needRoot(b)
	for _, thick := range []bool{false, true} {
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("%s/thick=%v", kind, thick), func(b *testing.B) {
				path := filepath.Join(folderFor(b), "image")
				for b.Loop() {
					must(b, Create(b.Context(), path, Spec{Filesystem: kind, Size: 20e9, Thick: thick}))
					b.StopTimer()
					must(b, os.Remove(path))
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkMount mounts images of 20 GB.
func BenchmarkMount(b *testing.B) {
	needRoot(b)
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			path, target := filepath.Join(folderFor(b), "image"), b.TempDir()
			must(b, Create(b.Context(), path, Spec{Filesystem: kind, Size: 20e9}))
			for b.Loop() {
				_, err := Mount(b.Context(), path, target, MountOptions{Discard: true})
				must(b, err)
				b.StopTimer()
				must(b, Unmount(b.Context(), target))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkUnmount unmounts images of 20 GB, and waits for the end of their devices.
func BenchmarkUnmount(b *testing.B) {
	needRoot(b)
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			path, target := filepath.Join(folderFor(b), "image"), b.TempDir()
			must(b, Create(b.Context(), path, Spec{Filesystem: kind, Size: 20e9}))
			for b.Loop() {
				b.StopTimer()
				_, err := Mount(b.Context(), path, target, MountOptions{})
				must(b, err)
				b.StartTimer()
				must(b, Unmount(b.Context(), target))
			}
		})
	}
}

// BenchmarkSnapshot takes snapshots of a mounted volume of 20 GB with 1 GiB of data, on a backing file system that shares blocks.
func BenchmarkSnapshot(b *testing.B) {
	for _, on := range []string{"xfs", "btrfs"} {
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("%s_on_%s", kind, on), func(b *testing.B) {
				dir := backing(b, on)
				path := filepath.Join(dir, "image")
				must(b, Create(b.Context(), path, Spec{Filesystem: kind, Size: 20e9}))
				m, _ := mountedOn(b, path, MountOptions{})
				write(b, m.Root, "f", string(make([]byte, 1<<30)))
				to := filepath.Join(dir, "snapshot")
				for b.Loop() {
					must(b, Snapshot(b.Context(), path, to, SnapshotOptions{}))
					b.StopTimer()
					must(b, os.Remove(to))
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkFind looks for the loop device of a file that has none.
func BenchmarkFind(b *testing.B) {
	needRoot(b)
	f, err := os.CreateTemp(b.TempDir(), "")
	must(b, err)
	defer f.Close()
	for b.Loop() {
		d, err := loop.Find(f)
		if err != nil || d != nil {
			b.Fatal(d, err)
		}
	}
}
