<?php
shell_exec("kill -SEGV " . getmypid()); sleep(5);
