package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// java parses an uncaught exception, down to its root cause.
func java(t *Text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found, placed := false, false
	for _, line := range t.lines {
		var head string
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
		d = api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(msg, typ), Hint: k.hint}
		found, placed = true, false
	}

	return d, found
}

// javaStart explains a program that the java launcher could not start.
func javaStart(msg string) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategoryRuntime, Type: "java", Message: msg}
	if strings.Contains(msg, "ain method not found") || strings.Contains(msg, "find or load main class") {
		d.Hint = "the class to run needs a `public static void main(String[] args)`"
	}
	return d
}

// javaFrame parses Main.f(Main.java:3). The JDK's own frames begin with a module, those of Kotlin and
// Scala with their packages.
func javaFrame(s string) place {
	method, where, ok := strings.Cut(s, "(")
	method = strings.TrimPrefix(method, "app//")
	first, _, _ := strings.Cut(method, ".")
	if !ok || strings.Contains(method, "/") || first == "kotlin" || first == "kotlinx" || first == "scala" {
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
	"NegativeArraySizeException":      {api.CategoryValue, "the length of a new array is negative"},
	"ArithmeticException":             {api.CategoryValue, hintZero},
	"NumberFormatException":           {api.CategoryValue, "the text is not a number: print it before converting it"},
	"InputMismatchException": {api.CategoryValue,
		"the next input is not of the type that the Scanner should read"},
	"NoSuchElementException": {api.CategoryValue,
		hintInput + ", or takes an element from a collection that has none left"},
	"ClassCastException":  {api.CategoryType, "the object is not of the class it is cast to"},
	"ArrayStoreException": {api.CategoryType, hintType},
	"ConcurrentModificationException": {api.CategoryRuntime,
		"a collection is changed during a loop over it: use an Iterator's remove, or a copy"},
	"UnsupportedOperationException": {api.CategoryRuntime,
		"this collection cannot be changed: make a new ArrayList of it"},
	"StackOverflowError":     {api.CategoryRuntime, hintRecursion},
	"OutOfMemoryError":       {api.CategoryMemory, HintMemory},
	"FileNotFoundException":  {api.CategoryRuntime, hintFile},
	"NoSuchFileException":    {api.CategoryRuntime, hintFile},
	"UnknownHostException":   {api.CategoryRuntime, HintNetwork},
	"ConnectException":       {api.CategoryRuntime, HintNetwork},
	"SocketException":        {api.CategoryRuntime, HintNetwork},
	"ClassNotFoundException": {api.CategoryImport, "there is no such class here"},
	"NoClassDefFoundError":   {api.CategoryImport, "there is no such class here"},
	"AssertionError": {api.CategoryRuntime,
		"the condition of this assert is false: print the values that it compares"},
}

// javac parses FILE:LINE: error: MESSAGE; the column is that of the ^ below.
func javac(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	for i, line := range t.lines {
		if len(all) == maxErrors {
			break
		}

		at, rest, ok := colons(line)
		if file, msg, found := strings.Cut(line, ": error: "); !ok && found { // an error without a line
			at, rest, ok = place{file: OwnFile(file)}, "error: "+msg, true
		}
		if msg, isError := strings.CutPrefix(rest, "error: "); ok && isError {
			if c := strings.IndexByte(t.line(i+2), '^'); c >= 0 && strings.TrimSpace(t.line(i+2)) == "^" {
				at.column = c + 1
			}
			k := match(javacPatterns, msg, kind{api.CategoryCompile, ""})
			all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "error", Message: msg, Hint: k.hint}))
		}
	}

	return all
}

var javacPatterns = []pattern{
	{"';' expected", kind{api.CategorySyntax, "a semicolon is missing here"}},
	{"reached end of file while parsing", kind{api.CategorySyntax, "a { is never closed"}},
	{"unclosed string literal", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"class, interface, enum, or record expected", kind{api.CategorySyntax, "look for a } too many before this line"}},
	{" expected", kind{api.CategorySyntax, hintSyntax}},
	{"illegal start of", kind{api.CategorySyntax, hintSyntax}},
	{"not a statement", kind{api.CategorySyntax, hintSyntax}},
	{"illegal character", kind{api.CategorySyntax, "this character is not part of the language: look for typographic quotes or spaces"}},
	{"does not exist", kind{api.CategoryImport, "this package is not available: only those of the JDK are"}},
	{"cannot find symbol", kind{api.CategoryCompile, "this name is not defined here: check the spelling, imports, " +
		"and that it is declared"}},
	{"incompatible types", kind{api.CategoryType, hintType}},
	{"bad operand types", kind{api.CategoryType, "the operator does not support these two types"}},
	{"cannot be applied to given types", kind{api.CategoryType, "the call does not fit: look at the number and types of the arguments"}},
	{"cannot be dereferenced", kind{api.CategoryType, "a simple value such as an int has no methods"}},
	{"might not have been initialized", kind{api.CategoryCompile, "give the variable a value on every path to this line"}},
	{"missing return statement", kind{api.CategoryCompile, "the function ends without a return on some path"}},
	{"unreported exception", kind{api.CategoryCompile, "catch this exception, or declare it with throws"}},
	{"is already defined", kind{api.CategoryCompile, "the name is defined twice"}},
	{"should be declared in a file named", kind{api.CategoryCompile, "a public class must be in a file with its name"}},
	{"non-static", kind{api.CategoryCompile, "main is static: make an object first, or make the other static too"}},
	{"no class has a method main", kind{api.CategoryCompile, "the program needs a class with `public static void main(String[] args)`"}},
	{"unreachable statement", kind{api.CategoryCompile, "this line is never reached: look at the return or loop before it"}},
	{"has private access", kind{api.CategoryCompile, "it is private: only its own class may use it"}},
	{"cannot assign a value to final variable", kind{api.CategoryCompile, "a final variable cannot be changed"}},
}
