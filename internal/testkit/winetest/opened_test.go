package winetest

import (
	"slices"
	"testing"
)

// TestOpened reads lines as Wine 8.0 prints them, and skips other files.
func TestOpened(t *testing.T) {
	const trace = "0138:trace:file:RtlGetFullPathName_U (L\"C:\\\\iotest.dat\" 520 0000000046F5F8E0 0000000000000000)\n" +
		"0138:trace:file:CreateFileW L\"C:\\\\iotest.dat\" GENERIC_READ FILE_SHARE_READ FILE_SHARE_WRITE  creation 3 attributes 0x2000001\n" +
		"0138:trace:file:CreateFileW L\"C:\\\\iotest.dat.json\" GENERIC_READ  creation 3 attributes 0x80\n" +
		"0164:trace:file:CreateFileW L\"C:\\\\iotest.dat\" GENERIC_READ GENERIC_WRITE FILE_SHARE_DELETE  creation 3 attributes 0xe0000080\r\n"
	want := []uint32{0x2000001, NoBuffering | WriteThrough | Overlapped | 0x80}
	if got := opened(trace, `C:\iotest.dat`); !slices.Equal(got, want) {
		t.Errorf("opened = %#x, want %#x", got, want)
	}
}
