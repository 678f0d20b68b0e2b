//go:build !unix

package main

import "errors"

// becomeProgram is not possible on systems where a process can't replace its program.
func becomeProgram(string, []string) error { return errors.ErrUnsupported }
