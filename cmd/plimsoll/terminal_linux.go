package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize asks the terminal for its width and height; they are 0 if f is not a terminal (/dev/null is a character device too).
func terminalSize(f *os.File) (width, height int) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}
