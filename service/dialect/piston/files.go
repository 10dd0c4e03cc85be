package piston

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A file is one of the files of a request.
type file struct {
	name    string // in the directory in which the program starts
	named   bool   // the request gives it its name
	source  bool   // its encoding is utf8: it is a source, and the first one is the program
	content api.Bytes
}

// readFiles reads the files of a request. Their contents are strings.
func readFiles(all []object) (files []file, refused string) {
	for i, o := range all {
		f := file{name: fmt.Sprintf("file%d.code", i)}
		if given := o["name"]; !isFalse(given) {
			name, is := text(given)
			if !is {
				return nil, fmt.Sprintf("files[%d].name must be a string", i)
			}

			f.named = true
			if f.name = nameInBox(name); api.FileName(f.name) != nil {
				return nil, fmt.Sprintf("files[%d].name %.200q is no name of a file below the directory in which the program starts", i,
					name)
			}
		}

		content, _ := text(o["content"])
		encoding, _ := text(o["encoding"])
		switch encoding {
		case "base64":
			f.content = decodeBase64(content)
		case "hex":
			f.content = decodeHex(content)
		default: // also one that there is not
			f.source, f.content = true, api.Bytes(content)
		}
		files = append(files, f)
	}
	return files, ""
}

// nameInBox returns a name as the original takes it: a slash at its beginning says nothing, and it must not lead out of
// the directory. Empty: it does.
func nameInBox(name string) string {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if strings.HasPrefix(clean, "..") {
		return ""
	}
	return clean
}

// place names the files, and returns them without the main one, which is the first source. Of two with one name the
// last one is written last, and stays.
func place(files []file, of language) (main file, others []api.File) {
	first := slices.IndexFunc(files, func(f file) bool { return f.source })
	main = files[first]
	for i, f := range files {
		if i != first && f.name == main.name {
			main.content = f.content
		}
	}

	for i, f := range files {
		later := slices.ContainsFunc(files[i+1:], func(g file) bool { return g.name == f.name })
		if later || f.name == main.name {
			continue
		}
		others = append(others, api.File{Name: f.nameAsSource(of), Content: f.content})
	}

	if main.named {
		main.name = main.nameAsSource(of)
	} else {
		main.name = freeName(of, others)
	}
	return main, others
}

// nameAsSource is the name by which the compiler takes a file for a source.
func (f file) nameAsSource(of language) string {
	if f.source && (!f.named || path.Ext(f.name) == "") {
		return f.name + of.ext
	}
	return f.name
}

// freeName is the name of a program that has none, which no other file has. The program does not know it, and by the
// first one brig starts it fastest. Empty: brig's language has one.
func freeName(of language, others []api.File) string {
	ext := path.Ext(of.file)
	name := of.file
	for n := 1; slices.ContainsFunc(others, func(f api.File) bool { return f.Name == name }); n++ {
		name = strings.TrimSuffix(of.file, ext) + strconv.Itoa(n) + ext
	}
	return name
}

// decodeBase64 reads base64 as Node does: both alphabets, up to the first =, and other characters are skipped.
func decodeBase64(text string) api.Bytes {
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			kept = append(kept, c)
		case c == '-':
			kept = append(kept, '+')
		case c == '_':
			kept = append(kept, '/')
		case c == '=':
			return decodeKept(kept)
		}
	}
	return decodeKept(kept)
}

func decodeKept(kept []byte) api.Bytes {
	if len(kept)%4 == 1 { // six bits are no byte
		kept = kept[:len(kept)-1]
	}
	b := make(api.Bytes, base64.RawStdEncoding.DecodedLen(len(kept)))
	n, _ := base64.RawStdEncoding.Decode(b, kept) // no error: kept has its alphabet only
	return b[:n]
}

// decodeHex reads pairs of digits up to the first character that is none, as Node does.
func decodeHex(text string) api.Bytes {
	b := make(api.Bytes, len(text)/2)
	n, _ := hex.Decode(b, []byte(text[:len(text)&^1])) // what came before an error is what the text has
	return b[:n]
}
