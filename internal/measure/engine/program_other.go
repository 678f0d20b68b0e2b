//go:build !unix

package engine

import "os"

// TrustedProgram is for OCI runtimes, which run on Linux only.
func TrustedProgram(path string) (string, error) { return path, nil }

// OnlyOurs can't be told here, where no machine runs that it could matter to.
func OnlyOurs(string, os.FileInfo) error { return nil }
