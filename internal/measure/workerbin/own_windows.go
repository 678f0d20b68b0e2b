package workerbin

import "embed"

// own holds the worker for the system that plimsoll itself is for.
//
//go:embed all:windows
var own embed.FS
