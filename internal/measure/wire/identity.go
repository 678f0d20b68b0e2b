package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Identity is what the worker prints to identify itself: the version of the language and the SHA-256 of its program. A
// container that runs anything else prints something else.
func Identity(program []byte) string {
	sum := sha256.Sum256(program)
	return fmt.Sprintf("plimsoll-worker %d %s", Version, hex.EncodeToString(sum[:]))
}
