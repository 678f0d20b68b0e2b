package winetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Flags of CreateFileW, of https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew.
const (
	WriteThrough uint32 = 0x80000000
	Overlapped   uint32 = 0x40000000
	NoBuffering  uint32 = 0x20000000
)

// createFile is a line of Wine's trace of files: the name with each backslash twice, what is asked for, then the attributes
// and flags.
var createFile = regexp.MustCompile(`CreateFileW L"([^"]*)" .*attributes 0x([0-9a-f]+)`)

// traceLine is a line of Wine's: the thread, the class and the channel.
var traceLine = regexp.MustCompile(`^[0-9a-f]{4}:(trace|warn|fixme|err):`)

// Opened runs a program as Run does and returns with which attributes and flags it, or what it started, opened a file, in
// that order. Wine has no unbuffered I/O: what a program asks for is all that can be seen there.
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

// opened are the attributes and flags of a file in a trace.
func opened(trace, file string) (flags []uint32) {
	for _, m := range createFile.FindAllStringSubmatch(trace, -1) {
		if n, err := strconv.ParseUint(m[2], 16, 32); err == nil && strings.ReplaceAll(m[1], `\\`, `\`) == file {
			flags = append(flags, uint32(n))
		}
	}
	return flags
}

// said is what a program itself printed among its trace.
func said(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !traceLine.MatchString(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}
