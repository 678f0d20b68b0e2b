//go:build !unix

package main

import "errors"

// becomeProgram can't be done where a process keeps its program.
func becomeProgram(string, []string) error { return errors.ErrUnsupported }
