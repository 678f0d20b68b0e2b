package disktest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// LUKS encrypts a device with cryptsetup, and opens it. It returns the node of the decrypted device, which is closed at the end of
// the test.
func LUKS(t testing.TB, device string) string {
	t.Helper()
	needMapper(t)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("a key of the test's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The number of iterations is the lowest allowed one: the data isn't secret, and the processor may be emulated.
	withoutUdev(t, "cryptsetup", "luksFormat", "--batch-mode", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", key, device)
	name := fmt.Sprintf("plimsoll-test-%d-luks-%d", os.Getpid(), mappers.Add(1))
	withoutUdev(t, "cryptsetup", "open", "--disable-keyring", "--key-file", key, device, name)
	t.Cleanup(func() { withoutUdev(t, "cryptsetup", "close", name) })
	return mapperNode(t, name)
}
