<?php
var_dump(time() - $_SERVER["REQUEST_TIME"] <= 1, microtime(true) - $_SERVER["REQUEST_TIME_FLOAT"] < 1, $_SERVER["REQUEST_TIME"] === (int) $_SERVER["REQUEST_TIME_FLOAT"], getrusage()["ru_utime.tv_sec"], hrtime(true) > 0);
