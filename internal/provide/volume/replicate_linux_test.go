package volume

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/killtest"
)

const lifeOfReceiver = "receiver"

func init() { killtest.Life(lifeOfReceiver, liveReceiver) }

// liveReceiver is "plimsoll volume receive" of the other machine; sshd passes its arguments.
func liveReceiver(dir string) error {
	s := New(dir)
	name := os.Args[3]
	if len(os.Args) > 4 {
		ids, err := s.SnapshotIDs(name)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(ids)
	}
	_, err := s.Receive(context.Background(), name, os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err
}

// otherMachine starts a real sshd, whose only command receives volumes into the state folder of other, and makes s use it as the host other.
func otherMachine(t *testing.T, s, other *Volumes) {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("needs sshd: scripts/setup test")
	}
	must(t, os.MkdirAll("/run/sshd", 0o755)) // sshd wants it, empty.
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	must(t, err)
	write(t, dir, "authorized", string(public))
	program, err := os.Executable()
	must(t, err)
	write(t, dir, "receive", fmt.Sprintf("#!/bin/sh\nset -- $SSH_ORIGINAL_COMMAND\nshift\nPLIMSOLL_TEST_LIFE=%s PLIMSOLL_TEST_LIFE_FOLDER=%s exec %s \"$@\"\n", lifeOfReceiver, other.state, program))
	must(t, os.Chmod(filepath.Join(dir, "receive"), 0o755))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	must(t, l.Close())
	write(t, dir, "sshd_config", fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/authorized\nForceCommand %[2]s/receive\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n", port, dir))
	var said bytes.Buffer
	c := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	c.Stderr = &said
	must(t, c.Start())
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", said.String())
		}
	})
	must(t, os.WriteFile(s.SSHConfig(), fmt.Appendf(nil, "Host other\n HostName 127.0.0.1\n Port %d\n User root\n IdentityFile %s/user\n IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n", port, dir), 0o600))
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			conn.Close()
			return
		}
	}
	t.Fatal("sshd doesn't answer")
}

// TestReplicate sends volumes to another machine, over a real sshd: all at first, then what has changed.
func TestReplicate(t *testing.T) {
	for _, c := range []struct{ fs, on, to string }{{"btrfs", "ext4", "xfs"}, {"ext4", "xfs", "btrfs"}, {"xfs", "btrfs", "ext4"}} {
		t.Run(c.fs, func(t *testing.T) {
			t.Parallel()
			s, other := volumesOn(t, c.on), volumesOn(t, c.to)
			made(t, s, "db", "filesystem="+c.fs, "capacity=320MiB", "service.replication.enabled=yes", "service.replication.type=asynchronous", "service.replication.destination=other")
			otherMachine(t, s, other)
			replicates(t, s, other)
		})
	}
}

func replicates(t *testing.T, s, other *Volumes) {
	ctx := t.Context()
	root := mounted(t, s, "db")
	furnish(t, root)
	var sent []int64
	for i := range 3 {
		write(t, root, "generation", fmt.Sprint(i))
		if i == 2 {
			must(t, os.Truncate(filepath.Join(root, "big"), 0))
		}
		r, err := s.Replicate(ctx, "db", "")
		must(t, err)
		sent = append(sent, r.Sent)
		if (r.Base == "") != (i == 0) {
			t.Errorf("the base of %d is %q", i, r.Base)
		}
	}
	if sent[0] < 3<<20 || sent[1] > sent[0]/4 || sent[2] > sent[0]/4 {
		t.Errorf("it sent %d bytes", sent)
	}
	v, err := s.Get("db")
	if err != nil || len(v.Snapshots) != 1 || v.Replicated.IsZero() {
		t.Errorf("the sender has %+v, %v", v.Snapshots, err)
	}
	w, err := other.Get("db")
	if err != nil || len(w.Snapshots) != 2 || w.Profile.Service.Replication.Enabled {
		t.Fatalf("the receiver has %+v, %v", w, err)
	}
	_, err = other.RestoreSnapshot(ctx, "db", w.Snapshots[1].ID, true)
	must(t, err)
	want := tree(t, root)
	unmounted(t, s, "db") // xfs can't be mounted twice with one UUID; on two machines it can.
	same(t, "the replica", want, tree(t, mounted(t, other, "db")))
	unmounted(t, other, "db")
	// The daemon sends it when it is due.
	replication := s.services()[2]
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{119 * time.Minute, 0}, {121 * time.Minute, 1}} {
		done, err := replication.work(ctx, v.Replicated.Add(c.after))
		if err != nil || len(done) != c.want {
			t.Errorf("after %v: %q, %v", c.after, done, err)
		}
	}
}

// TestReplicateRefused: what can't be sent or received changes nothing on either side.
func TestReplicateRefused(t *testing.T) {
	t.Parallel()
	s, other := volumesOn(t, "xfs"), volumesOn(t, "xfs")
	ctx := t.Context()
	made(t, s, "db", "filesystem=btrfs", "capacity=256MiB")
	otherMachine(t, s, other)
	for _, to := range []string{"", "-oProxyCommand=x", "a b"} {
		if _, err := s.Replicate(ctx, "db", to); err == nil || !strings.Contains(err.Error(), "no destination of ssh") {
			t.Errorf("to %q: %v", to, err)
		}
	}
	made(t, other, "db", "filesystem=ext4")
	if _, err := s.Replicate(ctx, "db", "other"); err == nil || !strings.Contains(err.Error(), "another file system") {
		t.Errorf("to another file system: %v", err)
	}
	must(t, other.Remove(ctx, "db", true))
	// A connection that breaks: the sender's data without its last frame, at any place.
	p, err := s.Snapshot(ctx, "db", SnapshotOptions{})
	must(t, err)
	v, err := s.Get("db")
	must(t, err)
	var data bytes.Buffer
	first, err := json.Marshal(sending{Profile: v.Profile, Snapshot: p, Keep: 2})
	must(t, err)
	data.Write(append(first, '\n'))
	frames := newFrameWriter(&data)
	must(t, local{}.send(ctx, v, p, nil, frames))
	must(t, frames.Close())
	all := data.Bytes()
	damaged := bytes.Clone(all)
	damaged[len(damaged)-40] ^= 1
	for what, text := range map[string][]byte{"nothing": nil, "no line": all[:20], "no end": all[:len(all)-36], "half": all[:len(all)/2+len(first)/2], "damaged": damaged,
		"id": bytes.Replace(all, []byte(p.ID), []byte("../../../evil"), 1)} {
		_, err := other.Receive(ctx, "db", bytes.NewReader(text))
		ids, lerr := other.SnapshotIDs("db")
		if err == nil || lerr != nil || len(ids) > 0 {
			t.Errorf("%s: %v; the receiver has %v, %v", what, err, ids, lerr)
		}
	}
	_, err = other.Receive(ctx, "db", bytes.NewReader(all))
	must(t, err)
	if _, err := other.Receive(ctx, "db", bytes.NewReader(all)); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time: %v", err)
	}
}
