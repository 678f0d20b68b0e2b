// Package workerbin holds the worker's program for each system that a container
// may have, and in a plimsoll for Windows that for Windows itself. make builds the programs into bin/ and windows/
// before plimsoll itself.
package workerbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

//go:embed all:bin
var bin embed.FS

// Bytes returns the worker for an operating system and architecture, by Go's
// names. The error names the make target if plimsoll was built without it.
func Bytes(goos, goarch string) ([]byte, error) {
	name := "/worker-" + goos + "-" + goarch
	b, err := fs.ReadFile(bin, "bin"+name)
	if err != nil {
		b, err = fs.ReadFile(own, "windows"+name)
	}
	if err != nil {
		return nil, fmt.Errorf("no worker for %s/%s in this plimsoll: build it with 'make build'", goos, goarch)
	}
	return b, nil
}

// Hash returns the worker's SHA-256 in hexadecimal: its identity in labels and
// file names.
func Hash(goos, goarch string) (string, error) {
	b, err := Bytes(goos, goarch)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
