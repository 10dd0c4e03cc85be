<?php
exec("echo a; exit 3", $out, $code); var_dump($out, $code); $p = proc_open(["cat"], [["pipe", "r"], ["pipe", "w"]], $pipes); fwrite($pipes[0], "in"); fclose($pipes[0]); var_dump(stream_get_contents($pipes[1]), proc_close($p)); $h = popen("cat", "w"); fwrite($h, "popen\n"); var_dump(pclose($h));
