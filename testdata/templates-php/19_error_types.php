<?php
echo $undefined; echo [] . ""; $a = [1]; echo $a["x"]; echo 1 / 3, intdiv(1, 3), "\n"; echo "abc"->x ?? "null"; trigger_error("own", E_USER_WARNING); trigger_error("deprecated", E_USER_DEPRECATED); try { strlen(); } catch (ArgumentCountError $e) { echo $e->getMessage(), $e->getLine(), "\n"; } echo 1 % 0;
