package jetstream

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// WorkerPermissions are the rights of a worker of a pool: to take jobs of that pool, to say that it works on them, to
// send results of the pool's jobs and its own state, and to read the pool's blobs. It can neither release a job, nor
// read results or the jobs of others, nor remove anything but jobs of its pool (TestWorkersHaveNoOtherRights,
// TestAWorkerReachesNoOtherPool).
func WorkerPermissions(worker, pool string) *server.Permissions {
	jobs, blobs := jobsPrefix+pool, "OBJ_"+blobsPrefix+pool
	allow := []string{
		"$JS.API.INFO",
		poolSubject(pool, "results.>"),
		"$KV." + workersPrefix + pool + "." + worker,
		"$JS.API.STREAM.INFO." + blobs, "$JS.API.DIRECT.GET." + blobs + ".>", "$JS.API.STREAM.MSG.GET." + blobs,
		"$JS.API.CONSUMER.CREATE." + blobs + ".>", "$JS.API.CONSUMER.DELETE." + blobs + ".*",
		"$JS.API.CONSUMER.MSG.NEXT." + blobs + ".*",
		"$JS.ACK." + blobs + ".>", "$JS.ACK.*.*." + blobs + ".>", "$JS.FC." + blobs + ".>", "$JS.FC.*.*." + blobs + ".>",
		"$JS.API.CONSUMER.INFO." + jobs + ".*", "$JS.API.CONSUMER.MSG.NEXT." + jobs + ".*", "$JS.ACK." + jobs + ".>",
		"$JS.ACK.*.*." + jobs + ".>",
	}

	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: allow},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_" + worker + ".>", controlSubject + "." + worker,
			cancelSubject(pool, "*")}},
		Response: &server.ResponsePermission{MaxMsgs: 1, Expires: callTime},
	}
}

// WorkerConfig is the entry of a worker of a pool in the configuration of a NATS server, in the account of the pool.
func WorkerConfig(worker, pool, key string) string {
	p := WorkerPermissions(worker, pool)
	list := func(subjects []string) string { return `["` + strings.Join(subjects, `", "`) + `"]` }
	return fmt.Sprintf("{ nkey: %s, permissions: {\n  publish: %s\n  subscribe: %s\n  allow_responses: true\n} }\n", key,
		list(p.Publish.Allow), list(p.Subscribe.Allow))
}
