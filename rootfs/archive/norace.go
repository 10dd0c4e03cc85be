//go:build !race

package archive

const raceDetector = false
