package jetstream

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// WorkerPermissions are the rights of a worker: to take jobs, to say that it works on them, to send results
// and its own state, and to read blobs. It can neither release a job, nor read results or the jobs of others,
// nor remove anything but jobs that it has (TestWorkersHaveNoOtherRights).
func WorkerPermissions(worker string) *server.Permissions {
	blobs := "OBJ_" + blobsBucket
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.INFO",
			"$JS.API.CONSUMER.INFO." + jobsStream + ".*", "$JS.API.CONSUMER.MSG.NEXT." + jobsStream + ".*",
			"$JS.ACK." + jobsStream + ".>", "$JS.ACK.*.*." + jobsStream + ".>",
			"brig.results.>",
			"$KV." + workersBucket + "." + worker,
			"$JS.API.STREAM.INFO." + blobs, "$JS.API.STREAM.NAMES", "$JS.API.DIRECT.GET." + blobs + ".>", "$JS.API.STREAM.MSG.GET." + blobs,
			"$JS.API.CONSUMER.CREATE." + blobs + ".>", "$JS.API.CONSUMER.DELETE." + blobs + ".*", "$JS.API.CONSUMER.MSG.NEXT." + blobs + ".*",
			"$JS.ACK." + blobs + ".>", "$JS.ACK.*.*." + blobs + ".>", "$JS.FC." + blobs + ".>", "$JS.FC.*.*." + blobs + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_" + worker + ".>", controlSubject + "." + worker, cancelSubject + ".*"}},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: callTime},
	}
}

// WorkerConfig is the entry of a worker in the configuration of a NATS server.
func WorkerConfig(worker, key string) string {
	p := WorkerPermissions(worker)
	list := func(subjects []string) string { return `["` + strings.Join(subjects, `", "`) + `"]` }
	return fmt.Sprintf("{ nkey: %s, permissions: {\n  publish: %s\n  subscribe: %s\n  allow_responses: true\n} }\n", key, list(p.Publish.Allow), list(p.Subscribe.Allow))
}
