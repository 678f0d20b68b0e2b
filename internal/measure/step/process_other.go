//go:build !linux

package step

// A process can take no steps on systems other than Linux.
type process struct{}

func newProcess() *process { return &process{} }

func (*process) take(c Call) *Answer {
	return &Answer{Error: string(c.Op) + ": steps need Linux", Errno: "ENOSYS"}
}
