package grade

import (
	"encoding/json"
	"path"
	"strings"
)

// A notebook is what brig reads of a Jupyter notebook (nbformat 4).
type notebook struct {
	Cells []struct {
		Type   string       `json:"cell_type"`
		Source notebookText `json:"source"`
	} `json:"cells"`
	Metadata struct {
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

// A notebookText is a string, or a list of lines.
type notebookText string

func (t *notebookText) UnmarshalJSON(raw []byte) error {
	var lines []string
	if err := json.Unmarshal(raw, &lines); err == nil {
		*t = notebookText(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

func isNotebook(name string) bool { return strings.EqualFold(path.Ext(name), ".ipynb") }

// asSource returns the name and the text of the program in a file: those of the file, or of the Python program that
// the code cells of a notebook are together.
func asSource(name string, text []byte) (string, []byte) {
	if !isNotebook(name) {
		return name, text
	}

	var n notebook
	if err := json.Unmarshal(text, &n); err != nil ||
		n.Metadata.Kernel.Language != "" && n.Metadata.Kernel.Language != "python" {
		return name, text // a file whose language is not known
	}

	var program strings.Builder
	for _, cell := range n.Cells {
		if cell.Type == "code" {
			program.WriteString(plainPython(string(cell.Source)) + "\n\n")
		}
	}

	return strings.TrimSuffix(name, path.Ext(name)) + ".py", []byte(program.String())
}

// magic finds the lines that only Jupyter understands: %matplotlib inline, !pip install.
var magic = compiled(`(?m)^([ \t]*)(%[a-zA-Z]|!)`)

// plainPython is a cell without what is for Jupyter: magics, commands of a shell, and cells of another language.
func plainPython(cell string) string {
	if strings.HasPrefix(strings.TrimSpace(cell), "%%") {
		return ""
	}
	return magic().ReplaceAllString(cell, "${1}pass # $2")
}
