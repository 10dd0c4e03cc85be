// Package grade judges what many people handed in against one problem: it finds the submissions among
// files, decides what is run for each, and writes what came of it as a table, CSV, HTML, JSON or JUnit
// XML. It executes nothing itself.
package grade
