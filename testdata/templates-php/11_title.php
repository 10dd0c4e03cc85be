<?php
var_dump(cli_get_process_title(), cli_set_process_title("another"), cli_get_process_title());
