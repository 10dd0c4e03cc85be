<?php
highlight_file(__FILE__); echo php_strip_whitespace(__FILE__), count(token_get_all("<?php 1;")), php_uname("s"), "\n"; debug_zval_refcount ?? 0;
