package mcp

import (
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// A CellOutcome is the answer of run_cell. All of it but the status is what the program said.
type CellOutcome struct {
	Kernel string `json:"kernel_id" jsonschema:"id of the kernel, for other calls"`
	Status string `json:"status" jsonschema:"how the cell ended: ok, error, interrupted, timeout, or died if its interpreter has ended"`
	Count  int    `json:"execution_count,omitempty" jsonschema:"number of the cell in its kernel"`
	Fresh  bool   `json:"fresh,omitempty" jsonschema:"whether variables of earlier cells were lost before this cell"`
	Lost   bool   `json:"lost,omitempty" jsonschema:"whether the variables are lost now"`

	Stdout        string `json:"stdout" jsonschema:"what the cell wrote to stdout, without the middle if it is long"`
	Stderr        string `json:"stderr" jsonschema:"what the cell wrote to stderr, without the middle if it is long"`
	StdoutLeftOut int64  `json:"stdout_left_out,omitempty" jsonschema:"bytes of stdout that are left out"`
	StderrLeftOut int64  `json:"stderr_left_out,omitempty" jsonschema:"bytes of stderr that are left out"`

	Values        []CellValue `json:"values" jsonschema:"what the cell displayed, and the value of its last expression"`
	ValuesLeftOut int         `json:"values_left_out,omitempty" jsonschema:"how many more there were"`
	Error         *CellError  `json:"error,omitempty" jsonschema:"the error of the cell"`

	shown []picture
}

// A CellValue is a value that a cell shows.
type CellValue struct {
	Kind           string   `json:"kind" jsonschema:"result for the value of the last expression, otherwise display"`
	Text           string   `json:"text,omitempty" jsonschema:"the value as text"`
	TextLeftOut    int64    `json:"text_left_out,omitempty" jsonschema:"bytes of it that are left out"`
	Picture        int      `json:"picture,omitempty" jsonschema:"number of the picture of it among those of this answer, from 1 on"`
	PictureLeftOut string   `json:"picture_left_out,omitempty" jsonschema:"why its picture is not in the answer"`
	Forms          []string `json:"forms" jsonschema:"MIME types of the forms that the value has"`
}

// A CellError is the error of a cell.
type CellError struct {
	Name      string `json:"name" jsonschema:"its kind"`
	Value     string `json:"value" jsonschema:"its text"`
	Traceback string `json:"traceback,omitempty" jsonschema:"the lines that say where"`
}

// outcome makes the answer when the cell has ended.
func (n *cellNotes) outcome(kernel string, end api.CellEvent) CellOutcome {
	o := CellOutcome{Kernel: kernel, Status: string(end.Status), Count: n.count, Fresh: n.fresh, Lost: end.Restarted,
		Values: append([]CellValue{}, n.values...), ValuesLeftOut: n.leftOut, Error: n.failed, shown: n.pictures}
	o.Stdout, o.StdoutLeftOut = n.stdout.text()
	o.Stderr, o.StderrLeftOut = n.stderr.text()
	return o
}

// text says the outcome to a model: the status first, then what was written and shown.
func (o CellOutcome) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status: %s, kernel_id: %s\n", o.Status, o.Kernel)
	if o.Fresh {
		b.WriteString("the interpreter was a fresh one: variables of earlier cells were lost\n")
	}
	if o.Lost {
		b.WriteString("the interpreter has ended: the variables are lost\n")
	}
	section := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", name, strings.TrimSuffix(text, "\n"))
		}
	}
	section("stdout", o.Stdout)
	section("stderr", o.Stderr)
	for _, v := range o.Values {
		section(v.Kind, v.Text)
		if v.TextLeftOut > 0 {
			fmt.Fprintf(&b, "[%d bytes left out]\n", v.TextLeftOut)
		}
		switch {
		case v.Picture > 0:
			fmt.Fprintf(&b, "[%s: picture %d]\n", v.Kind, v.Picture)
		case v.PictureLeftOut != "":
			fmt.Fprintf(&b, "[%s: a picture is left out: %s]\n", v.Kind, v.PictureLeftOut)
		case v.Text == "":
			fmt.Fprintf(&b, "[%s: a value with the forms %q]\n", v.Kind, v.Forms)
		}
	}
	if o.ValuesLeftOut > 0 {
		fmt.Fprintf(&b, "[%d more values are left out]\n", o.ValuesLeftOut)
	}
	if e := o.Error; e != nil {
		section("error", strings.TrimSuffix(e.Name+": "+e.Value, ": "))
		section("traceback", e.Traceback)
	}
	return b.String()
}

// pictures follow the text.
func (o CellOutcome) pictures() (all []sdk.Content) {
	for _, p := range o.shown {
		all = append(all, &sdk.ImageContent{MIMEType: p.mime, Data: p.content})
	}
	return all
}
