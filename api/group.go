package api

// A ScoreGroup is tests that score together. Groups are decided in the order of the request, never in the
// order in which tests end.
type ScoreGroup struct {
	ID       string      `json:"id" doc:"id of the group, unique among the groups of the run"`
	Tests    []string    `json:"tests,omitempty" doc:"ids of its tests; one that ends in / means every test whose id begins with it"`
	Groups   []string    `json:"groups,omitempty" doc:"ids of earlier groups whose points count in this one"`
	Points   float64     `json:"points,omitempty" doc:"points of the whole group"`
	Each     float64     `json:"each,omitempty" doc:"points of one accepted test or group in it; zero: with how=sum an equal part of points, otherwise points"`
	Reject   float64     `json:"reject,omitempty" doc:"points of one test in it that was not accepted"`
	How      Aggregation `json:"how,omitempty" doc:"how the points of its tests and groups become its own; empty: sum"`
	Passes   GroupPass   `json:"passes,omitempty" doc:"when the group is accepted; empty: all"`
	Requires []string    `json:"requires,omitempty" doc:"ids of earlier groups: if one of them is not accepted, no test of this group counts"`
	Stop     bool        `json:"stop,omitempty" doc:"after the first test in it that was not accepted, none of its further tests counts"`
}

// An Aggregation says how the points of tests become the points of their group.
type Aggregation string

// The aggregations.
const (
	AggregateSum      Aggregation = "sum"       // the default
	AggregateMin      Aggregation = "min"       // the least
	AggregateMax      Aggregation = "max"       // the most
	AggregateAverage  Aggregation = "avg"       // the mean
	AggregateProduct  Aggregation = "product"   // points times the product of the tests' scores
	AggregatePassFail Aggregation = "pass-fail" // points if the group is accepted, otherwise zero
)

// A GroupPass says when a group is accepted.
type GroupPass string

// The ways.
const (
	PassAll    GroupPass = "all"    // every test and group in it is accepted; the default
	PassAny    GroupPass = "any"    // one of them is
	PassAlways GroupPass = "always" // whatever they are
)

// A ScoreGroupResult says what a group scored.
type ScoreGroupResult struct {
	ID        string  `json:"id" doc:"id of the group"`
	Accepted  bool    `json:"accepted" doc:"whether the group is accepted: see passes of the group"`
	Points    float64 `json:"points" doc:"points of the group"`
	MaxPoints float64 `json:"max_points" doc:"most points of the group"`
	Skipped   bool    `json:"skipped,omitempty" doc:"no test of it counts, because of a group that it requires"`
}
