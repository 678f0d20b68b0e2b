//go:build !windows

package workerbin

import "embed"

// own is empty: elsewhere it is that of a container, or there is none.
var own embed.FS
