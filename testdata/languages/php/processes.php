<?php
function must($x, $what) { if (!$x) { fwrite(STDERR, "$what\n"); exit(1); } }
exec('exit 3', $out, $code);
must($code === 3 && shell_exec('echo piped') === "piped\n" && system('true') === '', 'system');
$p = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], 'through');
fclose($pipes[0]);
must(stream_get_contents($pipes[1]) === 'through' && proc_close($p) === 0, 'proc_open');
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
fwrite($a, "x\n");
stream_set_blocking($b, false);
$r = [$b];
must(stream_select($r, $w, $e, 5) === 1 && fgets($b) === "x\n" && stream_socket_recvfrom($b, 1) !== 'x', 'sockets');
if (function_exists('pcntl_fork')) {
    $pid = pcntl_fork();
    if ($pid === 0) exit(7);
    pcntl_waitpid($pid, $status);
    must(pcntl_wexitstatus($status) === 7, 'fork');
    pcntl_async_signals(true);
    pcntl_signal(SIGALRM, function () use (&$rang) { $rang = true; });
    pcntl_alarm(1);
    while (!$rang) usleep(10000);
}
usleep(1000);
echo "processes ok\n";
