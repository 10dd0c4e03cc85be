package api

// Parse decodes one JSON value that a caller sent, as strictly as ParseRun reads a Run. what names
// the value in errors.
func Parse[T any](raw []byte, what string) (T, error) { return parse[T](raw, what) }
