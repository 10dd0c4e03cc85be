<?php
function f() { try { return 1; } finally { echo "finally\n"; } } echo f(), "\n"; try { try { throw new Exception("a"); } finally { throw new Exception("b"); } } catch (Exception $e) { echo $e->getMessage(), $e->getPrevious()->getMessage(), "\n", $e->getTraceAsString(), "\n"; }
