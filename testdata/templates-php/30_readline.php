<?php
var_dump(fscanf(STDIN, "%s"), stream_get_line(STDIN, 100, "\n")); 
