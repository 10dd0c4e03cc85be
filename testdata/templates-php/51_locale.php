<?php
var_dump(setlocale(LC_ALL, 0), setlocale(LC_ALL, "C.UTF-8"), localeconv()["decimal_point"], 1.5 . "", setlocale(LC_NUMERIC, "xx"));
