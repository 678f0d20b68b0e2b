package load

// A Probe answers whether an I/O engine works here; it is found by doing I/O with the engine.
type Probe struct {
	// Engine is io_uring, linux-aio, psync or null.
	Engine string `json:"engine"`
	// OK reports whether a read and a write succeeded.
	OK bool `json:"ok"`
	// Reason says why not, and names the cause (seccomp, sysctl, memlock).
	Reason string `json:"reason,omitempty"`
}

// ProbeEngines finds out which engines work in the folder dir, the strongest first. It sets up each engine, and writes
// and reads a scratch file, with direct I/O if dir supports it. The file is removed. In a folder that can't be written,
// all engines but null fail.
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
