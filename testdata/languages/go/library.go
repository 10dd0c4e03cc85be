package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	var numbers []int
	check(json.Unmarshal([]byte("[1,2]"), &numbers))
	fmt.Println("json", numbers[0]+numbers[1])
	fmt.Println("regex", regexp.MustCompile("[0-9]{4}").FindString("the year 2026 in a text"))
	fmt.Println("big", new(big.Int).Exp(big.NewInt(2), big.NewInt(100), nil))
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	check(err)
	fmt.Println("zone", time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).In(tokyo).Format("15:04"))
	_, err = rand.Int(rand.Reader, big.NewInt(6))
	check(err)
	fmt.Println("random ok")
	dir, err := os.MkdirTemp("", "brig")
	check(err)
	name := filepath.Join(dir, "file")
	check(os.WriteFile(name, []byte("temp ok"), 0o600))
	text, err := os.ReadFile(name)
	check(err)
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
