package main

import (
	"fmt"
	"runtime"
)

func main() {
	if runtime.GOMAXPROCS(0) != runtime.NumCPU() {
		panic("GOMAXPROCS is not the number of processors")
	}
	fmt.Println("processors", runtime.NumCPU())
}
