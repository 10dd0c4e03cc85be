// Package wire has the messages of E2B's envd, made of wire.proto.
package wire

//go:generate protoc --go_out=. --go_opt=paths=source_relative wire.proto
