package vm

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/text/refusal"
)

// TestVirtiofsd: a virtiofsd is identified by its own output, in any folder. If none can be used, the error has a fix.
func TestVirtiofsd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell is needed")
	}
	inC := "virtiofsd 7.2.22 (C)"
	if os.Geteuid() != 0 {
		inC = "engine vm has no share virtiofs: virtiofsd 7.2.22 (C) can be used only by root; run plimsoll as root, install the virtiofsd in Rust, or use share: 9p"
	}
	for _, tt := range []struct{ name, script, want string }{
		{"usr/libexec/other", "echo virtiofsd 1.0", "virtiofsd, which serves the share, is not installed; install virtiofsd (Debian 12: qemu-system-common), or use share: 9p"},
		{"usr/libexec/virtiofsd", "echo virtiofs is nice", `virtiofsd doesn't run: it doesn't print its version; it prints "virtiofs is nice"; install another virtiofsd, or use share: 9p`},
		{"usr/libexec/virtiofsd", "echo virtiofsd 1.0; exit 1", `virtiofsd doesn't run: exit status 1; it prints "virtiofsd 1.0"; install another`},
		// Debian 12's, and one of QEMU's in the folder of the other.
		{"usr/lib/qemu/virtiofsd", "echo 'virtiofsd version 7.2.22 (Debian 1:7.2+dfsg-7)'; echo 'Copyright (c) 2003-2022 Fabrice Bellard and the QEMU Project developers'", inC},
		{"usr/libexec/virtiofsd", "echo 'virtiofsd version 7.2.22 (qemu-kvm-7.2.22-1.el8)'", inC},
		{"usr/libexec/virtiofsd", "echo virtiofsd backend 1.6.1", "virtiofsd 1.6.1 (Rust)"},
		{"usr/libexec/virtiofsd", "echo virtiofsd 1.14.0", "virtiofsd 1.14.0 (Rust)"},
	} {
		root := t.TempDir()
		path := filepath.Join(root, tt.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		v := &Engine{Options: Options{Root: root, LookPath: func(string) (string, error) { return "", os.ErrNotExist }}}
		d, err := v.shareDaemon(t.Context())
		got := d.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s that does %q is %q, want %q", tt.name, tt.script, got, tt.want)
		}
	}
}

// TestVirtiofsdArguments: each daemon gets arguments in its own form; the daemon in C takes them like mount's options.
func TestVirtiofsdArguments(t *testing.T) {
	if _, err := (virtiofsd{}).arguments("/a,b", "auto"); err == nil || !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), "give the place another path") {
		t.Errorf("a folder with a comma: %v, want it refused", err)
	}
	sandbox := "chroot"
	if os.Geteuid() != 0 {
		sandbox = "none"
	}
	for want, d := range map[string]virtiofsd{
		"--fd=3 -o source=/a b -o cache=none -o sandbox=chroot -o allow_direct_io -o log_level=err":            {},
		"--fd=3 --shared-dir /a b --cache never --sandbox " + sandbox + " --allow-direct-io --log-level error": {rust: true},
	} {
		if got, err := d.arguments("/a b", "none"); err != nil || strings.Join(got, " ") != want {
			t.Errorf("arguments of %s: %q, %v, want %q", d, got, err, want)
		}
	}
}
