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

// ProbeEngines finds out which engines work in the folder dir, the strongest first: it sets
// up each one and writes and reads a scratch file, with direct I/O if dir takes it. The
// file is removed. A folder that can't be written fails all engines but null.
func ProbeEngines(dir string) []Probe {
	path, direct, err := scratch(dir)
	if err == nil {
		defer removeScratch(path)
	}
	probes := make([]Probe, 0, len(engineNames))
	for _, name := range engineNames {
		e := err
		if e == nil && name != Null {
			e = tryEngine(name, path, direct)
		}
		p := Probe{Engine: name, OK: e == nil}
		if name == Null {
			p.OK = true
		} else if e != nil {
			p.Reason = reason(e)
		}
		probes = append(probes, p)
	}
	return probes
}
