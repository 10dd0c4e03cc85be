package service

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A run is refused a blob of another key wherever it names one (API-14): in every field of a run whose
// name ends in Blob.
func TestEveryBlobOfARunIsChecked(t *testing.T) {
	var r api.Run
	var want []string
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			walk(v.Elem(), path)
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Struct {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				walk(v.Index(0), path)
			}

		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				switch at := path + "." + f.Name; {
				case strings.HasSuffix(f.Name, "Blob"):
					v.Field(i).SetString(at)
					want = append(want, at)
				case f.IsExported():
					walk(v.Field(i), at)
				}
			}
		}
	}

	walk(reflect.ValueOf(&r).Elem(), "run")
	got := r.Blobs()
	if len(want) < 6 {
		t.Fatalf("found only the fields %q", want)
	}

	for _, field := range want {
		if !slices.Contains(got, field) {
			t.Errorf("%s is not checked", field)
		}
	}
}
