package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Identity is what the worker prints when it is asked which one it is: the version of
// the language and the SHA-256 of its program. A container in which anything else runs
// says something else.
func Identity(program []byte) string {
	sum := sha256.Sum256(program)
	return fmt.Sprintf("plimsoll-worker %d %s", Version, hex.EncodeToString(sum[:]))
}
