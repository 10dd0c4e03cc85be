<?php
echo str_repeat("line of output\n", 20000);
