package load

// A Probe is the answer to "does this I/O engine work here?", found by doing
// I/O with it.
type Probe struct {
	// Engine is io_uring, linux-aio, psync or null.
	Engine string `json:"engine"`
	// OK is whether a read and a write went through.
	OK bool `json:"ok"`
	// Reason is why not, in words that name the cause (seccomp, sysctl, memlock).
	Reason string `json:"reason,omitempty"`
}
