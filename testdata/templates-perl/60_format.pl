our ($n, $v) = ("name", 3.14159);
format STDOUT_TOP =
Name   Value
.
format STDOUT =
@<<<<< @##.##
$n, $v
.
write; $n = "other"; write; print "$% $- $~\n";
