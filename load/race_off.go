//go:build !race

package load

// raceDetector reports whether the program was built with go's -race.
const raceDetector = false
