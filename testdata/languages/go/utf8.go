package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	fmt.Println("grün 日本 😀")
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Print(line)
}
