package main

import (
	"os"
	"os/exec"
)

func main() {
	out, err := exec.Command("echo", "from a child").Output()
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(out)
}
