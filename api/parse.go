package api

// Parse reads one JSON value of what a caller sends as strictly as ParseRun reads a
// Run; what names it in errors.
func Parse[T any](raw []byte, what string) (T, error) { return parse[T](raw, what) }
