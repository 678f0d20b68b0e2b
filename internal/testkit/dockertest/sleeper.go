package dockertest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/moby/moby/client"
)

// EnvSleeper names a file with the sleeper, for a machine without a go command.
const EnvSleeper = "PLIMSOLL_TEST_SLEEPER"

// SleeperImage is the image that ImportSleeper makes, with the program /sleeper and a folder /data.
const SleeperImage = "plimsoll-sleeper:1"

// Sleeper is a static program that waits until it is killed, for containers of tests.
func Sleeper(t testing.TB) []byte {
	t.Helper()
	b, err := buildSleeper()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var buildSleeper = sync.OnceValues(func() ([]byte, error) {
	if path := os.Getenv(EnvSleeper); path != "" {
		return os.ReadFile(path)
	}
	dir, err := os.MkdirTemp("", "plimsoll-sleeper-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "sleeper"), "plimsoll/internal/testkit/dockertest/testdata/sleeper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the sleeper: %w: %s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "sleeper"))
})

// ImportSleeper makes SleeperImage in a daemon, unless the daemon has it.
func ImportSleeper(t testing.TB, api *client.Client) {
	t.Helper()
	if _, err := api.ImageInspect(t.Context(), SleeperImage); err == nil {
		return
	}
	program := Sleeper(t)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "sleeper", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write(program)
	}
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &b, SourceName: "-"}, SleeperImage, client.ImageImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	if said, err := io.ReadAll(res); err != nil || bytes.Contains(said, []byte(`"error"`)) {
		t.Fatalf("import the image: %v: %s", err, said)
	}
}
