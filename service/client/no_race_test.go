//go:build !race

package client

const maxTimes = 2 // of TestAnswersAreInMemoryOnce
