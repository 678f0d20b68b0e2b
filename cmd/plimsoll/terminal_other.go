//go:build !linux

package main

import "os"

// terminalWidth is unknown here: COLUMNS decides, and colours stay off without it.
func terminalWidth(*os.File) int { return 0 }

// terminalSize is unknown here.
func terminalSize(*os.File) (width, height int) { return 0, 0 }
