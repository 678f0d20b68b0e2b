package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalWidth asks the terminal for its width; 0 if f is not a terminal (/dev/null is a character device too).
func terminalWidth(f *os.File) int { width, _ := terminalSize(f); return width }

// terminalSize returns the width and height of the terminal, or 0 if f is not one.
func terminalSize(f *os.File) (width, height int) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}
