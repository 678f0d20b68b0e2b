//go:build !unix

package controlfile

// atOnce is empty where folders contain no pipes.
const atOnce = 0
