package api

// A Diagnosis says in a beginner's words why a run failed. It is read off what the
// program and its tools printed, which a program can fake: it explains a result
// and decides nothing. Package diagnose makes it, for whoever shows results;
// agents send none.
type Diagnosis struct {
	Category Category `json:"category" doc:"the kind of the failure"`
	Type     string   `json:"type" doc:"the language's own name for it, such as NameError or E0382; else the verdict's, the signal's or the system call's"`
	Message  string   `json:"message" doc:"what went wrong, in one line"`

	File   string `json:"file,omitempty" doc:"the deepest place in the program's own files, named as below /box; empty where nobody says"`
	Line   int    `json:"line,omitempty" doc:"in the file, from 1; zero where nobody says"`
	Column int    `json:"column,omitempty" doc:"in the line, from 1; zero where nobody says"`

	Hint string `json:"hint,omitempty" doc:"what may help, in one plain line; empty where there is nothing to add"`
}

// A Category is the kind of a failure.
type Category string

// The categories.
const (
	CategorySyntax  Category = "syntax"  // the program cannot be read
	CategoryImport  Category = "import"  // a module, header or package is missing
	CategoryType    Category = "type"    // a value of another type than needed
	CategoryValue   Category = "value"   // a value of the right type that does not do
	CategoryRuntime Category = "runtime" // any other failure of a program that ran
	CategoryMemory  Category = "memory"
	CategoryTime    Category = "time"
	CategoryOutput  Category = "output"
	CategoryDenied  Category = "denied" // a forbidden system call
	CategorySignal  Category = "signal"
	CategoryCompile Category = "compile" // any other failure of the compiler
)
