<?php
$h = password_hash("x", PASSWORD_BCRYPT, ["cost" => 4]); var_dump(password_verify("x", $h), strlen($h), crypt("a", '$1$abc$'), strlen(random_bytes(5)));
