<?php
$s = $_SERVER; unset($s['REQUEST_TIME'], $s['REQUEST_TIME_FLOAT']); ksort($s); print_r($s); print_r(array_keys($GLOBALS)); print_r($_GET + $_POST + $_COOKIE + $_FILES + $_ENV);
