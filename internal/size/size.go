// Package size reads and prints quantities of bytes, rates and times the way
// Plimsoll's command line and plans spell them.
package size
