//go:build !linux

package main

import "os"

// terminalWidth is unknown on this system: COLUMNS decides, and without it there are no colours.
func terminalWidth(*os.File) int { return 0 }

// terminalSize is unknown on this system.
func terminalSize(*os.File) (width, height int) { return 0, 0 }
