package problem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func ids(pairs []Pair) []string {
	var all []string
	for _, p := range pairs {
		all = append(all, p.ID)
	}
	return all
}

func TestPairsAreInNumericOrder(t *testing.T) {
	want := []string{"0", "1", "2", "02b", "10", "a-2-x", "a-10", "a-10-1", "b", "secret/2", "secret/10",
		"secret/123456789012345678901234567890"}
	names := []string{"a.out"}
	for _, i := range rand.Perm(len(want)) {
		names = append(names, want[i]+".in", want[i]+[]string{".ans", ".out"}[i%2])
	}

	pairs, unpaired, err := Pairs(names)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(pairs); !slices.Equal(got, want) {
		t.Errorf("order %q\nwant  %q", got, want)
	}
	if !slices.Equal(unpaired, []string{"a.out"}) {
		t.Errorf("unpaired %q; want a.out", unpaired)
	}
}

// Each line is a directory as a judge, a course or a site lays it out: the names, and the tests in it.
func TestPairsKnowUsualNames(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"1.in 1.ans 2.in 2.out", "1=1.in+1.ans 2=2.in+2.out"},
		{"1.in 1.ans 1.out readme.md solve_in.py", "1=1.in+1.ans"},
		{"sample/1.in sample/1.ans secret/1.in secret/1.ans", "sample/1=sample/1.in+sample/1.ans secret/1=secret/1.in+secret/1.ans"},
		{"01 01.a 02 02.a", "01=01+01.a 02=02+02.a"},
		{"input1.txt output1.txt input10.txt output10.txt", "1=input1.txt+output1.txt 10=input10.txt+output10.txt"},
		{"input/input0.txt output/output0.txt", "0=input/input0.txt+output/output0.txt"},
		{"input/1.txt output/1.txt", "1=input/1.txt+output/1.txt"},
		{"tests/input/1.in tests/output/1.out", "tests/1=tests/input/1.in+tests/output/1.out"},
		{"in/1 out/1 in/2 out/2", "1=in/1+out/1 2=in/2+out/2"},
		{"01/in 01/out", "01=01/in+01/out"},
		{"01/input.txt 01/output.txt 02/input.txt 02/expected_output.txt",
			"01=01/input.txt+01/output.txt 02=02/input.txt+02/expected_output.txt"},
		{"task.in.1 task.out.1", "task1=task.in.1+task.out.1"},
		{"input.txt output.txt", "input=input.txt+output.txt"},
		{"out-of-range.in out-of-range.ans in-order.in in-order.ans",
			"in-order=in-order.in+in-order.ans out-of-range=out-of-range.in+out-of-range.ans"},
		{"test_1_input.txt test_1_answer.txt", "test_1=test_1_input.txt+test_1_answer.txt"},
		{"1.in 1.ans 1.in.statement 1.interaction 1.png 1.yaml", "1=1.in+1.ans"},
	} {
		pairs, unpaired, err := Pairs(strings.Fields(tt.names))
		if err != nil {
			t.Errorf("%s: %v", tt.names, err)
			continue
		}
		var got []string
		for _, p := range pairs {
			got = append(got, fmt.Sprintf("%s=%s+%s", p.ID, p.Input, p.Answer))
		}
		if strings.Join(got, " ") != tt.want || len(unpaired) > 0 {
			t.Errorf("%s:\n%s, unpaired %q; want\n%s", tt.names, strings.Join(got, " "), unpaired, tt.want)
		}
	}
}

// Of several answers the first ending counts, and the others are named.
func TestSeveralAnswersOfATest(t *testing.T) {
	pairs, unpaired, err := Pairs(strings.Fields("1.ans 1.in 1.out 2.in 2.out 3.expected 3.in 3.out"))
	if err != nil || len(unpaired) > 0 {
		t.Fatalf("%q, %v", unpaired, err)
	}
	want := []Pair{
		{ID: "1", Input: "1.in", Answer: "1.ans", Others: []string{"1.out"}},
		{ID: "2", Input: "2.in", Answer: "2.out"},
		{ID: "3", Input: "3.in", Answer: "3.out", Others: []string{"3.expected"}},
	}
	if fmt.Sprint(pairs) != fmt.Sprint(want) {
		t.Errorf("%v; want %v", pairs, want)
	}
}

func TestMissingFilesOfTestsAreErrors(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"1.in", "1.in has no answer: there is neither 1.ans nor 1.out"},
		{"lost.ans", "lost.ans has no input: there is no lost.in"},
		{"input1.txt output1.txt input2.txt", "input2.txt has no answer: there is no such file with output in place of input"},
		{"input1.txt output1.txt answer1.txt", "answer1.txt and output1.txt could both belong to one test: rename one of them"},
	} {
		if _, _, err := Pairs(strings.Fields(tt.names)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v; want %s", tt.names, err, tt.want)
		}
	}

	pairs, unpaired, err := Pairs(strings.Fields("solve.py a.out notes.txt"))
	if len(pairs) > 0 || len(unpaired) != 1 || err != nil {
		t.Errorf("a directory without tests: %q, %q, %v", pairs, unpaired, err)
	}
}

// Ids are unique whatever the names, and no file is in two tests.
func FuzzPairs(f *testing.F) {
	f.Add("1.in 1.ans in/1 out/1 input1.txt output1.txt 1 1.a .in .out in out")
	f.Fuzz(func(t *testing.T, all string) {
		names := strings.Fields(all)
		slices.Sort(names)
		pairs, _, err := Pairs(slices.Compact(names))
		if err != nil {
			return
		}

		seen := map[string]bool{}
		for _, p := range pairs {
			if p.ID == "" || seen["id "+p.ID] || seen[p.Input] || seen[p.Answer] || p.Input == p.Answer {
				t.Fatalf("%q: %+v", names, pairs)
			}
			seen["id "+p.ID], seen[p.Input], seen[p.Answer] = true, true, true
		}
	})
}
