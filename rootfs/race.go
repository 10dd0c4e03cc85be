//go:build race

package rootfs

const raceDetector = true
