//go:build !race

package load

// raceDetector says that the program was built with go's -race.
const raceDetector = false
