<?php
$e = explode("\0", file_get_contents("/proc/self/environ")); sort($e); print_r($e);
