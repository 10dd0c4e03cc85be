package main

import "fmt"

func main() { fmt.Println(seven(), "from another file") }
