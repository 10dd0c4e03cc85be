<?php
class D { function __construct(public $n) {} function __destruct() { echo "destroy $this->n\n"; } }
$a = new D("a"); $b = new D("b"); $a->c = new D("c"); $b->self = $b; unset($a); $d = new D("d"); echo "end\n";
