<?php
$process = proc_open(['echo', 'from a child'], [1 => ['pipe', 'w']], $pipes);
echo stream_get_contents($pipes[1]);
exit(proc_close($process));
