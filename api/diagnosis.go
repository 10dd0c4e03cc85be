package api

// A Diagnosis explains to a beginner why a run failed. It is derived from the output of the program
// and its tools, which a program can fake: it explains a result and decides nothing. Package
// diagnose makes it, for code that shows results; agents send none.
type Diagnosis struct {
	Category Category `json:"category" doc:"the kind of the failure"`
	Type     string   `json:"type" doc:"the language's name for the error, such as NameError or E0382; otherwise the verdict, the signal or the system call"`
	Message  string   `json:"message" doc:"what went wrong, in one line"`

	File   string `json:"file,omitempty" doc:"the program's own file with the innermost location, relative to /box; empty if unknown"`
	Line   int    `json:"line,omitempty" doc:"line in the file, from 1; zero if unknown"`
	Column int    `json:"column,omitempty" doc:"column in the line, from 1; zero if unknown"`

	Hint string `json:"hint,omitempty" doc:"a suggestion, in one line; empty if there is none"`
}

// A Category is the kind of a failure.
type Category string

// The categories.
const (
	CategorySyntax  Category = "syntax"  // the program cannot be read
	CategoryImport  Category = "import"  // a module, header or package is missing
	CategoryType    Category = "type"    // a value of another type than needed
	CategoryValue   Category = "value"   // a value of the right type that is not valid
	CategoryRuntime Category = "runtime" // any other failure of a program that ran
	CategoryMemory  Category = "memory"
	CategoryTime    Category = "time"
	CategoryOutput  Category = "output"
	CategoryDenied  Category = "denied" // a forbidden system call
	CategorySignal  Category = "signal"
	CategoryCompile Category = "compile" // any other failure of the compiler
)
