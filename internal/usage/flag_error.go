package usage

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// FlagError replaces Go's own text in err, an error of setting a flag, by a hint what to
// write. Other errors are returned unchanged.
func FlagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := expectedValue(bad.GetFlag().Value.Type(), bad.Unwrap())
	if want == "" {
		return err
	}
	return errors.New(strings.TrimSuffix(err.Error(), bad.Unwrap().Error()) + want)
}

// expectedValue says which values a flag of a type accepts; empty if cause says it already.
func expectedValue(of string, cause error) string {
	var number *strconv.NumError
	var list *csv.ParseError
	switch {
	case errors.As(cause, &list):
		return "write one value, or several separated by commas"
	case strings.HasPrefix(cause.Error(), "time: "):
		return "write a time with its unit, such as 1.5s, 200ms or 2m"
	case !errors.As(cause, &number):
		return ""
	case of == "bool":
		return "write true or false"
	case errors.Is(number, strconv.ErrRange):
		return fmt.Sprintf("write a smaller number: the maximum is %s", largestValue(of))
	case strings.HasPrefix(of, "float"):
		return "write a number, such as 0.5"
	}

	return "write a whole number, such as 64"
}

// largestValue is the largest number that a flag of a type accepts.
func largestValue(of string) string {
	if strings.HasPrefix(of, "float") {
		return "1.8e308"
	}
	return "9223372036854775807"
}
