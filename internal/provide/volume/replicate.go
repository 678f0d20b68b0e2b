package volume

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// A replica on another machine is a volume of the same name with snapshots that were sent to it. Its data stays as it is: whoever needs the replica restores its
// latest snapshot, and the next one that comes takes nothing away.

// A sending is the first line of what Receive reads. The snapshot follows.
type sending struct {
	Profile  profile.Profile `json:"profile"`
	Snapshot Snapshot        `json:"snapshot"`
	// Base is the id of the snapshot that the receiver has, and to which the data is the difference; "": it is all data.
	Base string `json:"base,omitempty"`
	// Keep is how many received snapshots the receiver keeps.
	Keep int `json:"keep"`
}

// sendingMax is the longest first line, in bytes.
const sendingMax = 1 << 20

// A Replication is a snapshot that was sent.
type Replication struct {
	Snapshot Snapshot
	To       string
	// Base is the snapshot of which only the difference was sent; "": all was sent.
	Base string
	// Sent is in bytes.
	Sent int64
}

// Replicate takes a snapshot of a volume and sends it to another machine by ssh: what has changed since the last one that it has. to is a destination of ssh, by
// default the profile's.
func (s *Volumes) Replicate(ctx context.Context, name, to string) (r Replication, err error) {
	v, err := s.Get(name)
	if err != nil {
		return r, err
	}
	r.To = cmp.Or(to, v.Profile.Service.Replication.Destination)
	if !isDestination(r.To) {
		return r, usage.Errorf("volume %s: %q is no destination of ssh: give HOST or USER@HOST", name, r.To)
	}
	if _, err := snapshotsOf(v); err != nil {
		return r, err
	}
	there, err := s.received(ctx, name, r.To)
	if err != nil {
		return r, err
	}
	p, err := s.Snapshot(ctx, name, SnapshotOptions{Description: "sent to " + r.To, Peer: r.To})
	if err != nil {
		return r, err
	}
	r.Snapshot = p
	if err := s.send(ctx, name, there, &r); err != nil {
		return r, errors.Join(fmt.Errorf("replicate volume %s to %s: %w", name, r.To, err), s.RemoveSnapshot(context.WithoutCancel(ctx), name, p.ID))
	}
	return r, s.sent(ctx, name, r)
}

// isDestination matches what can't be taken for an option of ssh.
var isDestination = regexp.MustCompile(`^[A-Za-z0-9_.:\[\]%@][A-Za-z0-9_.:\[\]%@-]*$`).MatchString

// received lists the ids of the snapshots of a volume that another machine has.
func (s *Volumes) received(ctx context.Context, name, to string) (ids []string, err error) {
	c, said, err := s.ssh(ctx, to, "receive", name, "--list")
	if err != nil {
		return nil, err
	}
	out, err := c.Output()
	if err != nil {
		return nil, remote(ctx, to, err, said)
	}
	if err := json.Unmarshal(out, &ids); err != nil {
		return nil, fmt.Errorf("plimsoll on %s: its list of snapshots: %w", to, err)
	}
	return ids, nil
}

// send sends the snapshot of r, and fills r.
func (s *Volumes) send(ctx context.Context, name string, there []string, r *Replication) (err error) {
	v, err := s.Get(name)
	if err != nil {
		return err
	}
	way, err := snapshotsOf(v)
	if err != nil {
		return err
	}
	base := common(v, there)
	if base != nil {
		r.Base = base.ID
	}
	c, said, err := s.ssh(ctx, r.To, "receive", name)
	if err != nil {
		return err
	}
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	to := &counted{w: in}
	first, err := json.Marshal(sending{Profile: v.carried(), Snapshot: r.Snapshot, Base: r.Base, Keep: receiverKeeps(v)})
	if err == nil {
		_, err = to.Write(append(first, '\n'))
	}
	if err == nil {
		frames := newFrameWriter(to)
		if err = way.send(ctx, v, r.Snapshot, base, frames); err == nil {
			err = frames.Close()
		}
	}
	if err != nil && ctx.Err() == nil {
		// The receiver's own error says more than a broken pipe. It undoes what it has: no end of the data has come.
		c.Process.Kill()
	}
	r.Sent = to.n
	return errors.Join(remote(ctx, r.To, errors.Join(in.Close(), c.Wait()), said), err)
}

// receiverKeeps is how many snapshots the receiver keeps.
func receiverKeeps(v Volume) int {
	if n := v.Profile.Service.Snapshot.Max; v.Profile.Service.Snapshot.Enabled && n > 0 {
		return n
	}
	return 2
}

// common is the latest snapshot that was sent and that the other machine has; nil if there is none.
func common(v Volume, there []string) (base *Snapshot) {
	for _, p := range v.Snapshots {
		if p.Phase == Ready && slices.Contains(there, p.ID) {
			base = &p
		}
	}
	return base
}

// sent records that a snapshot was sent, and removes the earlier ones for the same machine: one is enough as the next one's base.
func (s *Volumes) sent(ctx context.Context, name string, r Replication) error {
	return s.existing(ctx, name, func(v Volume) error {
		v.Replicated = r.Snapshot.Taken
		if err := s.keep(ctx, v); err != nil {
			return err
		}
		for _, p := range slices.Clone(v.Snapshots) {
			if p.Peer == r.To && p.ID != r.Snapshot.ID {
				if err := s.removeSnapshot(ctx, &v, p); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// SSHConfig is the file that ssh reads instead of the user's and the machine's, if it exists.
func (s *Volumes) SSHConfig() string { return filepath.Join(s.state, "ssh_config") }

// ssh is the command that runs "plimsoll volume" on another machine.
func (s *Volumes) ssh(ctx context.Context, to string, args ...string) (*exec.Cmd, *lastbytes.Buffer, error) {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return nil, nil, &refusal.Error{What: "replication", Why: "the program ssh is not installed", Fix: "install openssh-client"}
	}
	words := []string{"-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ConnectTimeout=30"}
	if _, err := os.Stat(s.SSHConfig()); err == nil {
		words = append(words, "-F", s.SSHConfig())
	}
	words = append(append(words, "--", to, "plimsoll", "volume"), args...)
	c := exec.CommandContext(ctx, path, words...)
	said := &lastbytes.Buffer{Max: 4096}
	c.Stderr = said
	return c, said, nil
}

// remote is the error of a command on another machine.
func remote(ctx context.Context, to string, err error, said *lastbytes.Buffer) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("ssh %s plimsoll: %w%s", to, err, prefixed(": ", lastbytes.LastWords(said.String())))
}

// counted counts what is written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// SnapshotIDs are the ids of a volume's snapshots; none if there is no such volume.
func (s *Volumes) SnapshotIDs(name string) ([]string, error) {
	v, err := s.Get(name)
	ids := []string{}
	if isUnknown(err) {
		return ids, nil
	}
	for _, p := range v.Snapshots {
		if p.Phase == Ready {
			ids = append(ids, p.ID)
		}
	}
	return ids, err
}

// Receive adds a snapshot that Replicate sends to the volume of that name, which is made if there is none.
func (s *Volumes) Receive(ctx context.Context, name string, from io.Reader) (p Snapshot, err error) {
	r := bufio.NewReaderSize(from, sendingMax)
	line, err := r.ReadSlice('\n')
	var first sending
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil || !isID(first.Snapshot.ID) {
		return p, usage.Errorf("this is not what plimsoll volume replicate sends: %w", cmp.Or(err, errors.New("it names no snapshot")))
	}
	if err := s.replica(ctx, name, first.Profile); err != nil {
		return p, err
	}
	p = first.Snapshot
	p.Phase, p.Peer, p.Scheduled, p.Description = Making, Received, false, "received"
	err = s.existing(ctx, name, func(v Volume) error {
		if slices.ContainsFunc(v.Snapshots, func(q Snapshot) bool { return q.ID == p.ID }) {
			return usage.Errorf("it has a snapshot %s already", p.ID)
		}
		way, err := snapshotsOf(v)
		if err != nil {
			return err
		}
		var base *Snapshot
		if first.Base != "" {
			b, err := v.SnapshotNamed(first.Base)
			if err != nil {
				return err
			}
			base = &b
		}
		if err := suits(v, first.Profile); err != nil {
			return err
		}
		if way.subvolume(v) != p.Subvolume {
			return usage.Errorf("it has another file system than what is sent: remove it, or give it another name")
		}
		if err := s.addSnapshot(ctx, &v, p, func(ctx context.Context) error {
			frames := newFrameReader(r)
			err := way.receive(ctx, v, p, base, frames)
			if err == nil && !frames.whole {
				err = errCut
			}
			return err
		}); err != nil {
			return err
		}
		return s.rotateReceived(ctx, &v, max(1, first.Keep))
	})
	return p, err
}

// isID matches ids that newID makes. They are names of files.
var isID = regexp.MustCompile(`^\d{8}-\d{6}(-\d+)?$`).MatchString

// replica makes the volume that receives snapshots, if there is none. Nothing is done to it at intervals.
func (s *Volumes) replica(ctx context.Context, name string, p profile.Profile) error {
	_, err := s.Get(name)
	if !isUnknown(err) {
		return err
	}
	if p.Service.Encryption.KeyCommand != "" {
		return &refusal.Error{What: "a replica of volume " + name, Why: "no command of another machine is run here, and its key comes from one", Fix: "make the volume here first, with the same file system and encryption"}
	}
	// What is encrypted there is never stored in plain here.
	p.Optional = slices.DeleteFunc(slices.Clone(p.Optional), func(k string) bool { return k == "service.encryption" })
	p.Directory, p.Node = "", ""
	p.Service.Backup, p.Service.Replication, p.Service.Snapshot = profile.Backup{}, profile.Replication{}, profile.Snapshot{}
	_, _, err = s.Create(ctx, name, Where{Backend: "local"}, &p)
	return err
}

// suits refuses what is encrypted for a volume that isn't, and the reverse.
func suits(v Volume, sent profile.Profile) error {
	switch has := !keyOf(v).None(); {
	case sent.Service.Encryption.Enabled && !has:
		return usage.Errorf("what is sent is encrypted, and this volume isn't: remove it, or give it another name")
	case !sent.Service.Encryption.Enabled && has:
		return usage.Errorf("this volume is encrypted, and what is sent isn't: remove it, or give it another name")
	}
	return nil
}

// rotateReceived removes the oldest received snapshots.
func (s *Volumes) rotateReceived(ctx context.Context, v *Volume, keep int) error {
	var ours []Snapshot
	for _, p := range v.Snapshots {
		if p.Peer == Received && p.Phase == Ready {
			ours = append(ours, p)
		}
	}
	for _, p := range ours[:max(0, len(ours)-keep)] {
		if err := s.removeSnapshot(ctx, v, p); err != nil {
			return err
		}
	}
	return nil
}

// replicationAsked is what a volume's profile says of replication.
func replicationAsked(v Volume) (minutes int, last time.Time) {
	r := v.Profile.Service.Replication
	if !r.Enabled || r.Type != profile.Asynchronous || r.Destination == "" {
		return 0, last
	}
	return r.Minutes, v.Replicated // A new volume is sent at once.
}

// scheduledReplication sends a volume.
func (s *Volumes) scheduledReplication(ctx context.Context, v Volume) (string, error) {
	r, err := s.Replicate(ctx, v.Name, "")
	return fmt.Sprintf("volume %s: snapshot %s is sent to %s", v.Name, r.Snapshot.ID, r.To), err
}
