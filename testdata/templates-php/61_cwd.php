<?php
chdir("/tmp"); var_dump(getcwd(), __DIR__, realpath($argv[0]));
