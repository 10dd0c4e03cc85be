'before'
$a = 1
if ($a -eq 1 { 'two' }
