package usage

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Mistake is err, of setting a flag, with what to write instead of Go's own text of what
// was wrong. Other errors are as they were.
func Mistake(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := wanted(bad.GetFlag().Value.Type(), bad.Unwrap())
	if want == "" {
		return err
	}
	return errors.New(strings.TrimSuffix(err.Error(), bad.Unwrap().Error()) + want)
}

// wanted says what a flag of a type takes; empty where the cause has said it.
func wanted(of string, cause error) string {
	var number *strconv.NumError
	var list *csv.ParseError
	switch {
	case errors.As(cause, &list):
		return "write one value, or several with commas between them"
	case strings.HasPrefix(cause.Error(), "time: "):
		return "write a time with its unit, such as 1.5s, 200ms or 2m"
	case !errors.As(cause, &number):
		return ""
	case of == "bool":
		return "write true or false"
	case errors.Is(number, strconv.ErrRange):
		return fmt.Sprintf("write a smaller number: %s is the most", most(of))
	case strings.HasPrefix(of, "float"):
		return "write a number, such as 0.5"
	}
	return "write a whole number, such as 64"
}

// most is the largest number of a flag of a type.
func most(of string) string {
	if strings.HasPrefix(of, "float") {
		return "1.8e308"
	}
	return "9223372036854775807"
}
