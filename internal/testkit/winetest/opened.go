package winetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Flags of CreateFileW (https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew).
const (
	WriteThrough uint32 = 0x80000000
	Overlapped   uint32 = 0x40000000
	NoBuffering  uint32 = 0x20000000
)

// createFile matches a line of Wine's file trace: the name with each backslash doubled, the access, then the attributes and flags.
var createFile = regexp.MustCompile(`CreateFileW L"([^"]*)" .*attributes 0x([0-9a-f]+)`)

// traceLine matches a line of Wine: the thread, the class and the channel.
var traceLine = regexp.MustCompile(`^[0-9a-f]{4}:(trace|warn|fixme|err):`)

// Opened runs a program as Run does and returns the attributes and flags of each open of a file by it or its children, in order.
// Wine has no unbuffered I/O, so only the program's request is visible there.
func (w *Wine) Opened(t testing.TB, file, exe string, args ...string) ([]uint32, error) {
	t.Helper()
	traced := *w
	traced.env = append(w.env[:len(w.env):len(w.env)], "WINEDEBUG=+file")
	out, err := traced.Run(t, exe, args...)
	flags := opened(out, file)
	if err != nil || len(flags) == 0 {
		return flags, fmt.Errorf("%d times opened, %w: %.2000s", len(flags), err, said(out))
	}
	return flags, nil
}

// opened returns the attributes and flags of a file's opens in a trace.
func opened(trace, file string) (flags []uint32) {
	for _, m := range createFile.FindAllStringSubmatch(trace, -1) {
		if n, err := strconv.ParseUint(m[2], 16, 32); err == nil && strings.ReplaceAll(m[1], `\\`, `\`) == file {
			flags = append(flags, uint32(n))
		}
	}
	return flags
}

// said returns the program's own output, without the trace.
func said(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !traceLine.MatchString(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}
