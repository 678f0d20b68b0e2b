//go:build !unix

package engine

// trustedProgram is for OCI runtimes, which run on Linux only.
func trustedProgram(path string) (string, error) { return path, nil }
