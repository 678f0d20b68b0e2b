package vm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/guest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/text/lastbytes"
)

// bootPatience is how long a machine may take to answer. An emulated one on a quiet computer needs four seconds; each of
// ten started at the same time on two processors half a minute, and several times that beside other work.
const bootPatience = 3 * time.Minute

// Patience is how long Open may take in all: if a saved machine does not resume, one is booted.
func (v *Engine) Patience() time.Duration { return goOnPatience + bootPatience + startGrace }

// startGrace is how long making disks and starting programs may take in addition.
const startGrace = 30 * time.Second

// guestDirs are the mount points of a machine's places in the guest: of the data, and of the sources.
var guestDirs = []string{"/place", "/sources"}

// A placeDevice is the device of one of a machine's places.
type placeDevice struct {
	// dir holds what is made for it; data is the session's folder in the user's, for a share.
	dir, data string
	// name tells it from the machine's other place, in QEMU's options and in the guest; server is the address of its server
	// there.
	name, server string
	// args are QEMU's arguments; forward, if set, is the target of its network.
	args    []string
	forward string
	// mount tells the guest what to mount.
	mount wire.GuestMount
	// storage and hostPath are those of Info.
	storage, hostPath string
	// socket is QEMU's end of the connection to the share's daemon; nil without one.
	socket *os.File
	daemon *engine.Process
	// sharedMemory is set if the daemon reads the guest's memory. disk is set if the place is a disk of the machine's own.
	sharedMemory, disk bool
}

// tryID is the ID of a machine that is started only to try it.
func tryID() string {
	var b [4]byte
	rand.Read(b[:])
	return "try-" + hex.EncodeToString(b[:])
}

// Open implements Engine.
func (v *Engine) Open(ctx context.Context, spec engine.Spec) (engine.Session, error) {
	if err := v.supports(spec); err != nil {
		return nil, err
	}
	base, err := v.prepare(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range spec.Places() {
		if err := v.canHave(ctx, base, p.Kind); err != nil {
			return nil, err
		}
	}
	s, err := v.start(ctx, base, base.accel, spec.ID, spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// start starts a machine and returns it when its worker has done its setup and answers.
func (v *Engine) start(ctx context.Context, base *bootFiles, accel, id string, spec engine.Spec) (*session, error) {
	if err := v.room(v.memoryOf(spec)); err != nil {
		return nil, err
	}
	s := &session{vm: v, base: base, accel: accel, id: id, dir: engine.OwnFolder(filepath.Join(v.State, "vm"), id)}
	s.own = []string{s.dir}
	for i, p := range spec.Places() {
		if p.Kind != place.Bind {
			s.data = append(s.data, "")
			continue
		}
		parent, err := engine.DataParent(v.State, p.Path)
		if err != nil {
			return nil, err
		}
		folder := engine.OwnFolder(parent, id)
		if i > 0 {
			folder = engine.OwnSource(parent, id)
		}
		if _, err := os.Lstat(folder); err == nil {
			return nil, fmt.Errorf("make the trial's folder: %s exists already", folder)
		}
		s.data, s.own = append(s.data, folder), append(s.own, folder)
	}
	if err := v.journal.Note(ctx, id, engine.SessionRecord{Paths: s.own}); err != nil {
		return nil, engine.StateFault(v.State, err)
	}
	if err := s.begin(ctx, spec); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// begin makes what the machine needs, starts it, and waits for its answer.
func (s *session) begin(ctx context.Context, spec engine.Spec) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return engine.StateFault(s.vm.State, err)
	}
	if err := s.vm.equip(ctx, s, spec); err != nil {
		return err
	}
	saved := s.vm.savedPath(s.base, s.accel, spec)
	if from := s.vm.openSaved(saved); from != nil {
		defer from.Close()
		if err := s.launch(ctx, spec, from); err != nil {
			return err
		}
		err := s.goOn(ctx)
		if err == nil || !s.unsaved(ctx) {
			return err
		}
		// The saved machine is of no use, for whatever reason: boot one.
		if err := errors.Join(dropFile(from), s.again(ctx, spec)); err != nil {
			return err
		}
	}
	if err := s.launch(ctx, spec, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bootPatience, fmt.Errorf("the machine gave no answer within %v", bootPatience))
	defer cancel()
	if err := s.awaitBoot(ctx); err != nil {
		return err
	}
	if saved != "" {
		if err := s.save(ctx, saved); err != nil {
			return err
		}
	}
	return s.setUp(ctx)
}

// setUp sends the machine its setup, and waits until its worker says hello. The hello is left to be read.
func (s *session) setUp(ctx context.Context) error {
	if err := wire.NewWriter(s.Process.Stdin()).Send(wire.Message{Setup: &s.setup}); err != nil {
		return fmt.Errorf("send the machine its task: %w", err)
	}
	return s.await(ctx, func() error {
		_, err := s.out.Peek(1)
		return err
	})
}

// await waits for the machine's answer, and kills it if that takes too long.
func (s *session) await(ctx context.Context, read func() error) error {
	got := make(chan error, 1)
	go func() { got <- read() }()
	select {
	case err := <-got:
		if err == nil {
			return nil
		}
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the machine's answer: %w", err)
		}
		return fmt.Errorf("the machine ended as it started: %s", s.State(ctx))
	case <-ctx.Done():
		s.Kill()
		<-got
		return fmt.Errorf("%w%s", context.Cause(ctx), colon(lastbytes.LastWords(s.Log())))
	}
}

// awaitBoot waits for the machine's first line.
func (s *session) awaitBoot(ctx context.Context) error {
	var line []byte
	err := s.await(ctx, func() (err error) {
		line, err = s.out.ReadSlice('\n')
		return err
	})
	if err != nil {
		return err
	}
	m, _, err := wire.NewReader(bytes.NewReader(line)).Next()
	if err != nil || m.Booted == nil {
		return fmt.Errorf("the machine's first line is %.80q", line)
	}
	return nil
}

// launch starts QEMU; from is the saved machine to resume, nil to boot.
func (s *session) launch(ctx context.Context, spec engine.Spec, from *os.File) error {
	console, consoleEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer consoleEnd.Close()
	monitor, monitorEnd, err := newMonitor()
	if err != nil {
		console.Close()
		return err
	}
	defer monitorEnd.Close()
	s.monitor = monitor
	files, args := []*os.File{consoleEnd, monitorEnd}, s.arguments(spec)
	for _, p := range s.places {
		if p.socket != nil {
			files = append(files, p.socket)
		}
	}
	if from != nil {
		files, args = append(files, from), append(args, "-incoming", fmt.Sprintf("fd:%d", consoleFD+len(files)))
	}
	s.vm.touch(s.base.image, s.base.initrd)
	s.Process, err = engine.StartTied(append([]string{s.base.qemu}, args...), files...)
	// QEMU has them now, and only QEMU keeps them open.
	s.closeSockets()
	if err != nil {
		console.Close()
		return err
	}
	said, end := &lastbytes.Buffer{Max: engine.LogSize}, make(chan struct{})
	s.console, s.consoleEnd = said, end
	go func() {
		defer close(end)
		defer console.Close()
		_, _ = io.Copy(said, console)
	}()
	s.out = bufio.NewReaderSize(s.Process.Stdout(), 64<<10)
	s.info = engine.Info{
		Runtime: s.base.runtime(s.accel), Storage: s.places[0].storage, PID: s.Cmd.Process.Pid, HostPath: s.places[0].hostPath, Guest: true,
	}
	if len(s.places) > 1 {
		s.info.Storage += "; sources: " + s.places[1].storage
		s.info.SourcePath = s.places[1].hostPath
	}
	s.orphan = new(atomic.Pointer[engine.Process])
	for _, d := range s.daemons() {
		go watchDaemon(d, s.Process, s.orphan)
	}
	// From here on a sweep knows which processes to kill.
	return errors.Join(s.noteProcesses(ctx), s.enclose(spec))
}

// modulePaths are the paths of modules in the guest.
func modulePaths(files []string) []string {
	var out []string
	for _, f := range files {
		out = append(out, guest.ModulePath(f))
	}
	return out
}
