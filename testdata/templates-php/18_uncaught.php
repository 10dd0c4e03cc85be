<?php
function f($x) { throw new RuntimeException("boom", 5, new LogicException("inner")); }
f([1, "two", new stdClass]);
