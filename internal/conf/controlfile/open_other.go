//go:build !unix

package controlfile

// atOnce is nothing where no file of a folder is a pipe.
const atOnce = 0
