package batch

import "context"

// A Queue moves jobs to workers and their results back. It may lose both, and repeat both.
type Queue interface {
	// Release gives a job to the workers of a pool. It waits while nothing answers.
	Release(ctx context.Context, m Message) error

	// UnderWay lists the jobs of a batch that the queue holds, or whose results it holds.
	UnderWay(ctx context.Context, batch string) (map[int64]bool, error)

	// Results sends the results of a batch to out: from the first one that the queue holds, and then as they
	// come, until ctx is done. A result may be sent more than once. A message without a body says that the
	// queue has lost jobs or results.
	Results(ctx context.Context, batch string, out chan<- Message)

	// Forget removes results that have been recorded: those with a Sequence up to last.
	Forget(ctx context.Context, batch string, last uint64) error

	// Remove removes the result of one job, so that another one can be sent. It waits while nothing answers.
	Remove(ctx context.Context, batch string, index int64) error

	// Withdraw removes the jobs that no worker has taken. Those that workers have go on.
	Withdraw(ctx context.Context, batch string) error

	// Cancel has workers end the jobs of a batch that they execute, and drop those that wait.
	Cancel(ctx context.Context, batch string) error

	// End removes what the queue holds of a batch.
	End(ctx context.Context, batch string) error
}

// A Message is a job or a result on its way through a queue.
type Message struct {
	Batch    string // id of the batch
	Index    int64  // of the job in its batch
	Pool     string // of the workers
	Urgent   bool   // workers take it before others
	Epoch    string // of a job that is released: of the coordinator's process
	Attempt  int    // of a job that is released: how often it was released, from 1; of one that a worker took: how often one did
	Before   int    // of a job that is released: attempts of it that count already; Attempt of the worker that takes it includes them
	Sequence uint64 // of a result: its place in the queue
	Body     []byte // JSON of a Work, or of an api.JobResult
}
