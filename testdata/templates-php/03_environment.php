<?php
$e = getenv(); ksort($e); print_r($e); var_dump(getenv("NAME"), getenv("NONE"), $_SERVER["NAME"]);
putenv("B=c"); putenv("HOME"); var_dump(getenv("B"), getenv("HOME")); echo shell_exec("env | sort");
