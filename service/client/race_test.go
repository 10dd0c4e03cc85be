//go:build race

package client

const maxTimes = 3 // of TestAnswersAreInMemoryOnce
