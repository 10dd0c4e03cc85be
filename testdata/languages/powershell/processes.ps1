$ErrorActionPreference = 'Stop'
function Must($ok, $what) { if (-not $ok) { throw $what } }

sh -c 'exit 3'
Must ($LASTEXITCODE -eq 3) 'exit'
Must (('through' | cat) -eq 'through') 'pipe'
$p = Start-Process sleep 9 -PassThru
$p | Stop-Process
$p.WaitForExit()
Must $p.HasExited 'kill'
Must (((1..4 | ForEach-Object -Parallel { $_ * 2 }) | Measure-Object -Sum).Sum -eq 20) 'parallel'
Must ((Get-Process -Id $PID).Id -eq $PID) 'self'
'processes ok'
