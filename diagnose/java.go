package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// java reads an exception nobody caught, down to its root cause.
func java(t *text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found, placed := false, false
	for _, line := range t.lines {
		head := line
		if rest, ok := strings.CutPrefix(line, "Exception in thread \""); ok {
			_, head, _ = strings.Cut(rest, "\" ")
		} else if rest, ok := strings.CutPrefix(line, "Caused by: "); ok && found {
			head = rest
		} else if rest, ok := strings.CutPrefix(line, "Terminating due to "); ok { // -XX:+ExitOnOutOfMemoryError
			head = rest
		} else if rest, ok := strings.CutPrefix(line, "Error: "); ok && !found {
			return javaStart(rest), true
		} else {
			if found && !placed && strings.HasPrefix(line, "\tat ") {
				if at := javaFrame(line[len("\tat "):]); at.file != "" {
					d, placed = at.in(d), true
				}
			}
			continue
		}
		typ, msg, _ := strings.Cut(head, ": ")
		if !isName(typ) {
			continue
		}
		k := javaKind(typ, msg)
		d = api.Diagnosis{Category: k.category, Type: typ, Message: orWords(msg, typ), Hint: k.hint}
		found, placed = true, false
	}
	return d, found
}

// javaStart is for a program that the launcher could not start.
func javaStart(msg string) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategoryRuntime, Type: "java", Message: msg}
	if strings.Contains(msg, "ain method not found") || strings.Contains(msg, "find or load main class") {
		d.Hint = "a program begins in `public static void main(String[] args)` of the class to run"
	}
	return d
}

// javaFrame reads Main.f(Main.java:3). The JDK's own frames begin with a module.
func javaFrame(s string) place {
	method, where, ok := strings.Cut(s, "(")
	method = strings.TrimPrefix(method, "app//")
	if !ok || strings.Contains(method, "/") {
		return place{}
	}
	at, _, _ := colons(strings.TrimSuffix(where, ")"))
	return at
}

func javaKind(typ, msg string) kind {
	short := typ[strings.LastIndexByte(typ, '.')+1:]
	k, ok := javaTypes[short]
	if !ok {
		k = kind{api.CategoryRuntime, ""}
	}
	return kind{k.category, fill(k.hint, msg)}
}

var javaTypes = map[string]kind{
	"NullPointerException":            {api.CategoryValue, "something is null here: look at what was never given a value"},
	"ArrayIndexOutOfBoundsException":  {api.CategoryValue, hintIndex},
	"IndexOutOfBoundsException":       {api.CategoryValue, hintIndex},
	"StringIndexOutOfBoundsException": {api.CategoryValue, hintIndex},
	"NegativeArraySizeException":      {api.CategoryValue, "an array was asked for with a negative length"},
	"ArithmeticException":             {api.CategoryValue, hintZero},
	"NumberFormatException":           {api.CategoryValue, "the text is no number: print it before it is converted"},
	"InputMismatchException":          {api.CategoryValue, "the Scanner was asked for another kind of value than the input has next"},
	"NoSuchElementException":          {api.CategoryValue, hintInput + ", or something empty is asked for an element"},
	"ClassCastException":              {api.CategoryType, "the object is not of the class it is cast to"},
	"ArrayStoreException":             {api.CategoryType, hintType},
	"ConcurrentModificationException": {api.CategoryRuntime, "a collection is changed while a loop goes over it: use an Iterator's remove, or a copy"},
	"UnsupportedOperationException":   {api.CategoryRuntime, "this collection cannot be changed: make a new ArrayList of it"},
	"StackOverflowError":              {api.CategoryRuntime, hintRecursion},
	"OutOfMemoryError":                {api.CategoryMemory, hintMemory},
	"FileNotFoundException":           {api.CategoryRuntime, hintFile},
	"NoSuchFileException":             {api.CategoryRuntime, hintFile},
	"UnknownHostException":            {api.CategoryRuntime, hintNetwork},
	"ConnectException":                {api.CategoryRuntime, hintNetwork},
	"SocketException":                 {api.CategoryRuntime, hintNetwork},
	"ClassNotFoundException":          {api.CategoryImport, "there is no such class here"},
	"NoClassDefFoundError":            {api.CategoryImport, "there is no such class here"},
	"AssertionError":                  {api.CategoryRuntime, "a condition that this assert takes for granted does not hold: print what it compares"},
}

// javac reads FILE:LINE: error: MESSAGE; the column is that of the ^ below.
func javac(t *text) []api.Diagnosis {
	var all []api.Diagnosis
	for i, line := range t.lines {
		if len(all) == maxErrors {
			break
		}
		at, rest, ok := colons(line)
		if file, msg, found := strings.Cut(line, ": error: "); !ok && found { // of no line
			at, rest, ok = place{file: ownFile(file)}, "error: "+msg, true
		}
		if msg, isError := strings.CutPrefix(rest, "error: "); ok && isError {
			if c := strings.IndexByte(t.line(i+2), '^'); c >= 0 && strings.TrimSpace(t.line(i+2)) == "^" {
				at.column = c + 1
			}
			k := match(javacClues, msg, kind{api.CategoryCompile, ""})
			all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "error", Message: msg, Hint: k.hint}))
		}
	}
	return all
}

var javacClues = []clue{
	{"';' expected", kind{api.CategorySyntax, "a semicolon is missing here"}},
	{"reached end of file while parsing", kind{api.CategorySyntax, "a { is nowhere closed"}},
	{"unclosed string literal", kind{api.CategorySyntax, "a text is opened here and not closed: add the quote at its end"}},
	{"class, interface, enum, or record expected", kind{api.CategorySyntax, "look for a } too many before this line"}},
	{" expected", kind{api.CategorySyntax, hintSyntax}},
	{"illegal start of", kind{api.CategorySyntax, hintSyntax}},
	{"not a statement", kind{api.CategorySyntax, hintSyntax}},
	{"illegal character", kind{api.CategorySyntax, "a character stands here that is none of the language's: look for typographic quotes or spaces"}},
	{"does not exist", kind{api.CategoryImport, "there is no such package here: only the JDK's own are"}},
	{"cannot find symbol", kind{api.CategoryCompile, "nothing has this name here: check the spelling, imports, and that it is declared"}},
	{"incompatible types", kind{api.CategoryType, hintType}},
	{"bad operand types", kind{api.CategoryType, "the operator does not go with these two types"}},
	{"cannot be applied to given types", kind{api.CategoryType, "the call does not fit: look at the number and types of the arguments"}},
	{"cannot be dereferenced", kind{api.CategoryType, "a simple value such as an int has no methods"}},
	{"might not have been initialized", kind{api.CategoryCompile, "give the variable a value on every way to this line"}},
	{"missing return statement", kind{api.CategoryCompile, "the function ends without a return on some way through it"}},
	{"unreported exception", kind{api.CategoryCompile, "catch this exception, or declare it with throws"}},
	{"is already defined", kind{api.CategoryCompile, "the name is given twice"}},
	{"should be declared in a file named", kind{api.CategoryCompile, "a public class is in a file of its own name"}},
	{"non-static", kind{api.CategoryCompile, "main is static: make an object first, or make the other static too"}},
	{"no class has a method main", kind{api.CategoryCompile, "a program begins in `public static void main(String[] args)` of a class: there is none"}},
	{"unreachable statement", kind{api.CategoryCompile, "nothing ever gets to this line: look at the return or loop before"}},
	{"has private access", kind{api.CategoryCompile, "it is private: only its own class may use it"}},
	{"cannot assign a value to final variable", kind{api.CategoryCompile, "what is final cannot be changed"}},
}
