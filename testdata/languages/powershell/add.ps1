$a, $b = (Read-Host).Split() | ForEach-Object { [int]$_ }
$a + $b
