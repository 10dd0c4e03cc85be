// Package dataset reads data sets of programming tasks, such as HumanEval and LiveCodeBench, in JSONL,
// and makes a job for each solution. It runs nothing and needs no privilege. Data sets come from
// strangers: a line is bounded, and one that cannot be read is refused with its number, while the lines
// after it are read.
package dataset
