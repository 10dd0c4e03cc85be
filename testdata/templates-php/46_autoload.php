<?php
spl_autoload_register(function ($c) { echo "load $c\n"; eval("class $c { const X = 5; }"); }); echo Nothing::X, "\n"; var_dump(class_exists("Other", false)); eval('echo __FILE__, __LINE__, "\n";'); try { eval("x x"); } catch (ParseError $e) { echo $e->getMessage(), $e->getFile(), "\n"; }
